/* Prints this machine's instruction set; a development build runs it to choose its only module. */
#include <stdio.h>

#include "instruction_set.h"

int main(void) {
    fputs(instruction_set(), stdout);
    return 0;
}
