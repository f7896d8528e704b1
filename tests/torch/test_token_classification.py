"""The layer at the end of a model of Hugging Face's ``transformers``: tiny and random, nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch, of the extra dualfield[torch], is not installed")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from dualfield.torch import CRF  # noqa: E402

NAMES = ["B-PER", "I-PER", "O"]
INPUT_IDS = torch.tensor([[1, 7, 8, 9, 3, 2], [1, 5, 6, 2, 0, 0]])
ATTENTION = (INPUT_IDS != 0).long()
# The first piece of a word has its label.
LABELS = torch.tensor([[-100, 0, -100, 1, 2, -100], [-100, 2, 0, -100, -100, -100]])


class Tagger(transformers.BertPreTrainedModel):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        names = [config.id2label[number] for number in range(config.num_labels)]
        self.bert = transformers.BertModel(config, add_pooling_layer=False)
        self.classifier = torch.nn.Linear(config.hidden_size, config.num_labels)
        self.crf = CRF(config.num_labels, batch_first=True, labels=names, constraints="bio", ignore_index=-100)
        self.post_init()

    def _init_weights(self, module: Any) -> None:
        if isinstance(module, CRF):
            module.reset_parameters()
        else:
            super()._init_weights(module)

    def forward(self, input_ids: Any, attention_mask: Any, labels: Any = None) -> dict[str, Any]:
        states = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state
        logits = self.classifier(states)
        loss = {} if labels is None else {"loss": -self.crf(logits, labels, reduction="token_mean")}
        return {**loss, "logits": logits}

    def best(self) -> list[list[int]]:
        with torch.no_grad():
            return self.crf.decode(self(INPUT_IDS, ATTENTION)["logits"], LABELS != -100)


@pytest.fixture(scope="module")
def config() -> Any:
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    names = dict(enumerate(NAMES))
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return transformers.BertConfig(**sizes, **none, intermediate_size=32, id2label=names)


@pytest.fixture(scope="module")
def trained(config: Any) -> Tagger:
    torch.manual_seed(0)
    model = Tagger(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(80):
        optimizer.zero_grad()
        model(INPUT_IDS, ATTENTION, LABELS)["loss"].backward()
        optimizer.step()
    return model.eval()


def test_words_get_the_labels_of_their_first_pieces(trained: Tagger) -> None:
    assert trained.best() == [[0, 1, 2], [2, 0]]
    assert trained(INPUT_IDS, ATTENTION, LABELS)["loss"].item() < 0.1


def test_a_saved_model_keeps_weights_and_rules(trained: Tagger, tmp_path: Path) -> None:
    trained.save_pretrained(tmp_path)
    loaded = Tagger.from_pretrained(tmp_path).eval()
    assert loaded.best() == trained.best()
    emissions = torch.zeros(1, 4, len(NAMES))
    emissions[..., 1] = 5.0  # only I-PER, which may not come first, nor after O
    assert loaded.crf.decode(emissions) == [[0, 1, 1, 1]]
    torch.testing.assert_close(loaded.crf.log_partition(emissions), trained.crf.log_partition(emissions))


def test_a_layer_that_the_file_lacks_is_drawn_anew(config: Any, tmp_path: Path) -> None:
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    crf = Tagger.from_pretrained(tmp_path).crf
    for parameter in crf.parameters():
        assert 0 < parameter.abs().max() <= 0.1
