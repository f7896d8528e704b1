# The methods, one line each: its name, which is that of its class, of core/solvers/<name in small letters>.hpp and of
# the function in Python; then, where virtual calls would be felt in its steps, the types of fields that it is
# compiled for.
set(hot_fields "Chain<AllPairs> Chain<ObservedPairs> Multiclass")
set(methods
  "SDCA ${hot_fields}"
  "OEG ${hot_fields}"
  "LBFGS"
  "OWLQN"
  "SAG"
  "SAGA"
  "SVRG Multiclass"
  "SGD"
  "AdaGrad Multiclass"
  "SMD"
  "Perceptron"
  "PA"
  "AROW"
)
