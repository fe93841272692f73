"""What people call the columns of a file of predictions: the only place that knows.

Names are compared in small letters. A column with none of these names is never taken for
anything unless the user says so, or all labels are names of columns.
"""

LABELS = (
    *("label", "labels", "target", "targets", "y", "y_true", "outcome", "truth", "true_class"),
    *("true_label", "ground_truth", "gold", "actual", "observed", "class"),
)
CORRECT = ("correct", "is_correct", "was_correct", "correctness", "hit")
"""Whether a prediction was right: labels that go with a confidence."""

CONFIDENCES = ("confidence", "conf", "top_confidence", "top_prob", "max_prob")
SINGLES = (
    *("prob", "p", "proba", "probability", "score", "y_prob", "y_proba", "y_score", "pred_prob"),
    *("pred_proba", "predicted_prob", "predicted_probability", "prediction", "forecast", "risk"),
    *CONFIDENCES,
)
PREFIXES = ("prob_", "proba_", "p_")
LISTS = (
    *("probs", "prob", "proba", "probas", "probabilities", "p", "y_prob", "y_proba", "y_score"),
    *("scores", "predict_proba"),
)
LOGIT_SINGLES = ("logit", "logits", "score", "y_score")
LOGIT_PREFIXES = ("logit_", "logits_")
LOGIT_LISTS = ("logits", "logit", "scores")

DECISIONS = (
    *("prediction", "predicted", "pred", "y_pred", "predicted_class", "predicted_label"),
    *("pred_label", "answer"),
)
WEIGHTS = ("weight", "weights", "sample_weight", "sample_weights")
MODELS = ("model", "models", "model_name", "model_id", "classifier", "system")
IDS = (
    *("id", "ids", "row_id", "sample_id", "example_id", "case_id", "item_id", "question_id"),
    *("uid", "uuid", "guid"),
)
