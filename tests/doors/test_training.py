"""Callbacks of Lightning and of Hugging Face, around their own trainers."""

import json
import logging

import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.strategies import DDPStrategy
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import calibrant as cal
from calibrant import lightning as on_lightning
from calibrant import transformers as on_transformers
from calibrant.torch import CalibrationError

RNG = np.random.default_rng(0)
X = torch.from_numpy(RNG.normal(size=(400, 5)).astype(np.float32))
Y = torch.from_numpy((RNG.random(400) < 1 / (1 + np.exp(-2 * X[:, 0].numpy()))).astype(np.int64))
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the trainers
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Linear(lightning.LightningModule):
    def __init__(self, key="logits"):
        super().__init__()
        self.layer, self.key = torch.nn.Linear(5, 2), key

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, _):
        return {self.key: self.layer(batch[0]), "labels": batch[1]}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.1)


def fit(model, callback, epochs=3):
    data = torch.utils.data.TensorDataset(X, Y)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        callbacks=[callback],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loader = torch.utils.data.DataLoader(data, 64)
    trainer.fit(model, loader, torch.utils.data.DataLoader(data, 50))
    return trainer


def test_lightning_records_each_validation():
    torch.manual_seed(0)
    callback = on_lightning.CalibrationCallback()
    model = Linear()
    trainer = fit(model, callback)
    rows = callback.trajectory.rows
    assert [row.step for row in rows] == [7, 14, 21]  # not the one before training
    data = cal.Predictions.from_logits(model.layer(X), Y)
    assert rows[-1].log_score == pytest.approx(cal.log_score(data), rel=1e-6)
    logged = {name: float(v) for name, v in trainer.callback_metrics.items()}
    for name, value in rows[-1].logged().items():
        assert logged[f"val_{name}"] == pytest.approx(value, rel=1e-6)
    trainer.validate(model, torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 50))
    assert len(callback.trajectory.rows) == 3


class Metered(Linear):
    """Adds up the metric in its validation, as PyTorch's loops do."""

    def __init__(self):
        super().__init__()
        self.metric = CalibrationError(2)

    def validation_step(self, batch, _):
        found = super().validation_step(batch, _)
        self.metric.update(found["logits"].softmax(1), batch[1])
        return found

    def on_validation_epoch_end(self):
        self.log_dict(self.metric.compute())


class Kept(lightning.Callback):
    """Writes what a process of a trainer has found into a file of its own."""

    def __init__(self, folder, callback):
        self.folder, self.callback = folder, callback

    def on_validation_end(self, trainer, _):
        logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
        (row,) = self.callback.trajectory.rows
        found = {"world": trainer.world_size, "row": row.to_dict(), "logged": logged}
        (self.folder / f"{trainer.global_rank}.json").write_text(json.dumps(found))


def validated(folder, **how):
    """Return what each process has found of the same model and rows."""
    folder.mkdir()
    torch.manual_seed(0)
    callback = on_lightning.CalibrationCallback()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    callbacks = [callback, Kept(folder, callback)]
    trainer = lightning.Trainer(accelerator="cpu", callbacks=callbacks, **quiet, **how)
    data = torch.utils.data.TensorDataset(X, Y)
    trainer.validate(Metered(), torch.utils.data.DataLoader(data, 50), verbose=False)
    return [json.loads(path.read_text()) for path in sorted(folder.iterdir())]


def test_lightning_on_two_processes_is_one_process(tmp_path):
    (one,) = validated(tmp_path / "one")
    strategy = DDPStrategy(process_group_backend="gloo", start_method="fork")
    two = validated(tmp_path / "two", devices=2, strategy=strategy)
    assert [found["world"] for found in two] == [2, 2]
    assert set(one["logged"]) == {
        *("estimate", "expected", "pvalue"),
        *(f"val_calibration_{name}" for name in ("error", "expected", "pvalue")),
    }
    for found in two:
        assert found["row"] == one["row"]
        assert found["logged"] == one["logged"]


def test_lightning_needs_predictions():
    with pytest.raises(ValueError, match="must return a dict of 'logits' or 'probs', and 'labels'"):
        fit(Linear("scores"), on_lightning.CalibrationCallback(), 1)


def hugging_face(folder):
    """Return a model, arguments and data for its Trainer."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=8,
        num_labels=3,
    )
    arguments = TrainingArguments(
        str(folder),
        num_train_epochs=2,
        eval_strategy="epoch",
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    words = RNG.integers(0, 20, (60, 6))
    data = [{"input_ids": list(map(int, w)), "labels": int(w[0] % 3)} for w in words]
    return BertForSequenceClassification(config), arguments, data


def test_hugging_face_records_each_evaluation(tmp_path):
    model, arguments, data = hugging_face(tmp_path)
    calibration = on_transformers.CalibrationCallback(cal.Trajectory(n_resamples=99, rng=0))
    both = {"compute_metrics": calibration, "callbacks": [calibration]}
    trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data, **both)
    trainer.train()
    rows = calibration.trajectory.rows
    assert [row.step for row in rows] == [8, 16]
    logged = [one for one in trainer.state.log_history if "eval_loss" in one]
    for one, row in zip(logged, rows, strict=True):
        assert one["eval_calibration_error"] == row.value
        assert one["eval_calibration_pvalue"] == row.pvalue
        assert one["eval_loss"] == pytest.approx(row.log_score, rel=1e-4)
    trainer.evaluate()
    assert len(calibration.trajectory.rows) == 2


def test_tokens_without_labels_are_left_out():
    class Evaluated:
        predictions = (RNG.normal(size=(4, 6, 3)), "hidden states")
        label_ids = np.where(RNG.random((4, 6)) < 0.3, -100, RNG.integers(0, 3, (4, 6)))

    calibration = on_transformers.CalibrationCallback()
    assert set(calibration(Evaluated)) == {
        "calibration_error",
        "calibration_expected",
        "calibration_pvalue",
    }
    Evaluated.predictions = RNG.normal(size=(4, 3))
    with pytest.raises(ValueError, match="must give logits for each class of every label"):
        calibration(Evaluated)
