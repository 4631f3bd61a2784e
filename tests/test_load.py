"""Loading what others trained: torch's modules run the same, files that lie are refused."""

import os
import pickle

import numpy as np
import pytest
import safetensors.torch
import torch
import torch.nn.utils.prune
from torch import nn

import paperlib as pl
from paperlib.load import ablated, load_network

INPUTS = np.random.default_rng(1).normal(size=(4, 9, 3))


class Model(nn.Module):
    """As in many labs' code: a recurrent layer, a readout, and something besides."""

    def __init__(self, **options):
        super().__init__()
        self.rnn = nn.RNN(3, 6, batch_first=True, **options)
        self.fc = nn.Linear(6, 2)
        self.norm = nn.LayerNorm(3)

    def forward(self, x):
        return self.fc(self.rnn(x)[0])


def drawn(module):
    """The module in double precision, with weights of more digits than float32 has."""
    for weight in module.double().parameters():
        nn.init.normal_(weight, std=0.4)
    return module


@pytest.fixture
def model():
    torch.manual_seed(0)
    return drawn(Model())


def outputs(model):
    with torch.no_grad():
        return model(torch.from_numpy(INPUTS)).numpy()


def same(network, model):
    np.testing.assert_allclose(network.run(INPUTS), outputs(model), rtol=0, atol=1e-12)


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_module_runs_as_in_torch(nonlinearity, bias):
    model = drawn(Model(nonlinearity=nonlinearity, bias=bias))
    same(load_network(model), model)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_module_is_left_untouched(kind, batch_first):
    module = drawn(getattr(nn, kind)(3, 6, batch_first=batch_first))
    module.weight_hh_l0.requires_grad_(False)
    module.register_forward_hook(lambda *_: pytest.fail("the module itself was run"))
    before = {k: v.clone() for k, v in module.state_dict().items()}
    random_state = torch.get_rng_state()
    gate = None if kind == "RNN" else "candidate"
    network = load_network(module, gate=gate)
    network.run(INPUTS, np.zeros((6, 6)))
    with ablated(module, "CC", gate=gate):
        pass
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    assert module.training and not module.weight_hh_l0.requires_grad
    assert module.weight_ih_l0.requires_grad and module.weight_ih_l0.grad is None
    assert torch.equal(torch.get_rng_state(), random_state)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kind", "gate"), [("RNN", None), ("GRU", "reset"), ("LSTM", "output")])
def test_the_recurrent_matrix_keeps_its_precision(kind, gate, dtype):
    module = drawn(getattr(nn, kind)(3, 4)).to(getattr(torch, np.dtype(dtype).name))
    for source in (module, module.state_dict()):
        W_hh = load_network(source, gate=gate).W_hh
        assert W_hh.dtype == dtype
        stacked = module.weight_hh_l0.detach().numpy()
        assert any(np.array_equal(W_hh, stacked[i : i + 4]) for i in range(0, len(stacked), 4))


def test_the_general_layer_tells_its_units():
    for mode, activation in {"RNN_RELU": "relu", "RNN_TANH": "tanh"}.items():
        network = load_network(nn.RNNBase(mode, 3, 4))
        assert network.activation == activation
        assert not any("taken for tanh" in note for note in network.notes)


def test_a_cell_of_ones_own_with_one_bias_and_more_parameters():
    state = {"weight_ih": torch.ones(4, 3), "weight_hh": torch.eye(4), "bias_hh": torch.ones(4)}
    network = load_network(state | {"tau": torch.ones(1), "weight_out": torch.ones(2, 4)})
    assert np.array_equal(network.b_h, np.ones(4)) and network.W_hy is None
    assert any("tau, weight_out" in note for note in network.notes)
    with pytest.raises(ValueError, match="bias_hh has shape .3,.: beside a weight_hh of .4, 4."):
        load_network(state | {"bias_hh": torch.ones(3)})


def test_what_else_a_module_holds_is_said():
    parts = {"rnn": nn.RNN(3, 4), "conv": nn.Conv1d(4, 2, 1), "emb": nn.Embedding(9, 4)}
    network = load_network(nn.ModuleDict(parts))
    assert network.n_out == 4  # neither a convolution nor an embedding is a linear readout
    assert any("conv.bias, conv.weight, emb.weight" in note for note in network.notes)
    assert load_network(nn.ModuleDict(parts | {"fc": nn.Linear(4, 2)})).n_out == 2


@pytest.mark.parametrize("prefix", ["", "module.", "net.core."])
def test_a_state_dict_runs_as_in_torch(model, prefix):
    network = load_network({prefix + k: v for k, v in model.state_dict().items()})
    same(network, model)
    assert any("taken for tanh" in note for note in network.notes)
    assert any("norm.weight" in note for note in network.notes)


def test_a_cell_runs_as_in_torch():
    torch.manual_seed(0)
    cell = nn.RNNCell(3, 6).double()
    states, h = [], None
    with torch.no_grad():
        for x in torch.from_numpy(INPUTS).unbind(1):
            h = cell(x, h)
            states.append(h.numpy())
    for source in (cell, cell.state_dict(), {f"cell.{k}": v for k, v in cell.state_dict().items()}):
        np.testing.assert_allclose(
            load_network(source).run(INPUTS), np.stack(states, 1), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_a_gated_module_and_its_state_dict_are_one_network(kind):
    torch.manual_seed(0)
    model = drawn(nn.ModuleDict({"core": getattr(nn, kind)(3, 5), "out": nn.Linear(5, 2)}))
    with torch.no_grad():
        states = model["core"](torch.from_numpy(INPUTS).transpose(0, 1))[0]
        expected = model["out"](states).transpose(0, 1).numpy()
    for source in (model, model.state_dict()):
        network = load_network(source, gate="candidate")
        np.testing.assert_allclose(network.run(INPUTS), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="gate must name.*candidate"):
        load_network(model)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"bias_hh_l0": None}, {}, "one of bias_ih and bias_hh: a GRU has both"),
        ({"weight_ih_l0": torch.ones(14, 3)}, {}, r"weight_ih has shape \(14, 3\)"),
        ({"weight_hh_l0": torch.ones(10, 5)}, {}, "neither an RNN's nor a GRU's"),
        ({}, {"activation": "relu"}, "for plain networks, not a GRU"),
        ({}, {"leak": 0.5}, "for plain networks, not a GRU"),
        ({}, {"leak_on": "potential"}, "for plain networks, not a GRU"),
        ({}, {"h_0": np.zeros(5)}, "for plain networks, not a GRU"),
        ({}, {"readout": np.ones((2, 4))}, "W_hy must have shape"),
    ],
)
def test_gated_networks_that_do_not_fit_are_refused(change, options, message):
    state = nn.GRU(3, 5).state_dict() | change
    state = {k: v for k, v in state.items() if v is not None}
    with pytest.raises(ValueError, match=message):
        load_network(state, gate="reset", **options)


def rows(model):
    """The same weights as Keras and Flax keep them."""
    state = {k: v.numpy() for k, v in model.state_dict().items()}
    return {
        "kernel": state["rnn.weight_ih_l0"].T, "recurrent_kernel": state["rnn.weight_hh_l0"].T,
        "bias": state["rnn.bias_ih_l0"] + state["rnn.bias_hh_l0"],
        "dense_kernel": state["fc.weight"].T, "dense_bias": state["fc.bias"],
    }


def test_row_kernels_are_the_transposes(model):
    same(load_network(rows(model), convention="row"), model)
    turned = {k: v.T if v.ndim == 2 else v for k, v in rows(model).items()}
    same(load_network(turned, convention="column"), model)


def test_a_readout_that_is_given_is_not_turned(model):
    plain = {k: v for k, v in rows(model).items() if not k.startswith("dense")}
    readout = drawn(nn.Linear(6, 6))
    network = load_network(plain | {"dense_bias": np.ones(2)}, convention="row", readout=readout)
    model.fc = readout
    same(network, model)
    assert load_network(rows(model), convention="row", readout=False).n_out == 6


def test_a_wrong_convention_is_refused_where_shapes_tell(model):
    with pytest.raises(ValueError, match=r"convention='row' where it computes h @ W_hh"):
        load_network(rows(model))
    with pytest.raises(ValueError, match=r"\(3, 6\) beside .* fits convention='row'"):
        load_network(rows(model), convention="column")
    with pytest.raises(ValueError, match="fits convention='column'"):
        load_network({"W_xh": np.ones((6, 3)), "W_hh": np.eye(6)}, convention="row")
    square = {"W_xh": np.ones((6, 6)), "W_hh": np.eye(6), "W_hy": np.ones((6, 2))}
    with pytest.raises(ValueError, match=r"W_hy has shape \(6, 2\) .* fits convention='row'"):
        load_network(square, convention="column")
    with pytest.raises(ValueError, match="torch's weights multiply columns"):
        load_network(model, convention="row")
    with pytest.raises(ValueError, match="convention must be 'column' or 'row'"):
        load_network(model, convention="keras")


@pytest.mark.parametrize("wrapped", [None, "state_dict", "model_state_dict"])
@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_a_checkpoint_runs_as_in_torch(model, tmp_path, wrapped, suffix):
    state = model.state_dict()
    torch.save({wrapped: state, "epoch": 3} if wrapped else state, tmp_path / f"w{suffix}")
    same(load_network(tmp_path / f"w{suffix}"), model)
    same(load_network(str(tmp_path / f"w{suffix}")), model)
    same(load_network({wrapped: state, 3: "epoch"} if wrapped else state), model)


def test_safetensors_and_npz_run_as_in_torch(model, tmp_path):
    safetensors.torch.save_file(model.state_dict(), tmp_path / "w.safetensors")
    same(load_network(tmp_path / "w.safetensors"), model)
    np.savez(tmp_path / "w.npz", **rows(model))
    same(load_network(tmp_path / "w.npz", convention="row"), model)
    np.savez(tmp_path / "torch.npz", **{k: v.numpy() for k, v in model.state_dict().items()})
    same(load_network(tmp_path / "torch.npz"), model)


def test_a_solution_and_its_file_are_one_network(tmp_path):
    rng = np.random.default_rng(0)
    one = pl.Solution(rng.normal(size=(6, 3)), rng.normal(size=(6, 6)) / 3, rng.normal(size=(2, 6)))
    path = pl.save_solution(one, tmp_path / "seed-0.safetensors")
    for source in (one, path):
        network = load_network(source)
        np.testing.assert_allclose(network.run(INPUTS), one(INPUTS), rtol=0, atol=1e-12)
        assert network.notes == ()
        for wrong in ({"convention": "row"}, {"activation": "relu"}):
            with pytest.raises(ValueError, match="a Solution is of tanh units"):
                load_network(source, **wrong)
    assert load_network(network) is network
    with pytest.raises(ValueError, match="source is a network already"):
        load_network(network, leak=0.5)


class Hostile:
    """Makes a folder when it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


def test_a_hostile_pickle_is_refused_and_not_run(tmp_path):
    trap = str(tmp_path / "trap")
    torch.save({"weight_hh_l0": Hostile(trap)}, tmp_path / "new.pt")
    torch.save(
        {"weight_hh_l0": Hostile(trap)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False
    )
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(Hostile(trap)))
    for name in ("new.pt", "old.pt", "bare.pt"):
        with pytest.raises(pl.ArtifactError, match=r"could run any code.*state_dict"):
            load_network(tmp_path / name)
    np.savez(tmp_path / "objects.npz", W_hh=np.array([Hostile(trap)], dtype=object))
    with pytest.raises(pl.ArtifactError, match="objects.npz is damaged"):
        load_network(tmp_path / "objects.npz", convention="column")
    assert not os.path.exists(trap)
    pickle.loads(pickle.dumps(Hostile(trap)))  # the trap works
    assert os.path.exists(trap)


def test_a_whole_pickled_module_is_refused(model, tmp_path):
    torch.save(nn.RNN(3, 4), tmp_path / "module.pt")
    with pytest.raises(pl.ArtifactError, match="save the weights alone"):
        load_network(tmp_path / "module.pt")


@pytest.mark.parametrize("suffix", [".pt", ".npz", ".safetensors"])
def test_truncated_and_foreign_files_are_named(model, tmp_path, suffix):
    path = tmp_path / f"w{suffix}"
    if suffix == ".pt":
        torch.save(model.state_dict(), path)
    elif suffix == ".npz":
        np.savez(path, **rows(model))
    else:
        safetensors.torch.save_file(model.state_dict(), path)
    whole = path.read_bytes()
    contents = (whole[: len(whole) // 2], whole[:7], b"GIF89a" * 9, b"\x93NUMPY" + b"x" * 30)
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(pl.ArtifactError, match=rf"w\{suffix}"):
            load_network(path, convention="column")
    path.write_bytes(b"")
    with pytest.raises(pl.ArtifactError, match="is empty"):
        load_network(path)
    path.unlink()
    with pytest.raises(pl.ArtifactError, match="does not exist"):
        load_network(path)
    path.mkdir()
    with pytest.raises(pl.ArtifactError, match="is a folder"):
        load_network(path)
    with pytest.raises(pl.ArtifactError, match="weights are read from .pt"):
        load_network(tmp_path / "w.h5")
    with pytest.raises(pl.ArtifactError, match="is a folder"):
        load_network(tmp_path)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda: nn.RNN(3, 4, num_layers=2), "num_layers = 2.*take one layer out"),
        (lambda: nn.RNN(3, 4, bidirectional=True), "bidirectional = True.*two recurrent"),
        (lambda: nn.LSTM(3, 4, proj_size=2), "proj_size = 2.*projected"),
        (lambda: nn.ModuleList([nn.RNN(3, 4), nn.RNN(3, 4)]), "found '0', '1': say which by rnn="),
        (lambda: nn.Linear(3, 4), "holds no torch.nn RNN, GRU or LSTM.* written by hand"),
        (lambda: nn.ModuleList([nn.RNN(3, 4), nn.Linear(4, 1), nn.Linear(4, 2)]),
         "found '1', '2': say which by readout="),
        (lambda: nn.RNN(3, 4).half(), "dtype float16: cast"),
        (lambda: nn.RNN(3, 4).bfloat16(), "dtype bfloat16: cast"),
    ],
)
def test_what_is_no_single_layer_is_refused_with_the_reason(module, message):
    with pytest.raises((TypeError, ValueError), match=message):
        load_network(module())


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda: nn.RNN(3, 4, num_layers=2), "several layers .weight_ih_l1."),
        (lambda: nn.RNN(3, 4, bidirectional=True), "bidirectional .weight_ih_l0_reverse."),
        (lambda: nn.LSTM(3, 4, proj_size=2), "projected .weight_hr_l0."),
        (lambda: nn.Linear(3, 4), "no W_xh and no W_hh in the source, which has 'weight', 'bias'"),
    ],
)
def test_state_dicts_are_refused_like_their_modules(module, message):
    with pytest.raises(ValueError, match=message):
        load_network(module().state_dict(), convention="column")


def test_arguments_choose_among_several(model):
    two = nn.ModuleDict({"a": Model(), "b": model}).double()
    same(load_network(two, rnn="b.rnn", readout="b.fc"), model)
    same(load_network(two.state_dict(), rnn="b.rnn", readout="b.fc"), model)
    same(load_network(model.rnn, readout=model.fc), model)
    weight, bias = model.fc.weight.detach().numpy(), model.fc.bias.detach().numpy()
    np.testing.assert_allclose(
        load_network(model, readout=weight).run(INPUTS) + bias, outputs(model), rtol=0, atol=1e-12
    )
    assert load_network(model, readout=False).n_out == 6
    with pytest.raises(ValueError, match="rnn='c' is no recurrent layer here"):
        load_network(two, rnn="c")
    with pytest.raises(ValueError, match="readout='fcc' is no linear readout here; there is 'fc'"):
        load_network(model, readout="fcc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "relu"}, "but the module's units are tanh"),
        ({"gate": "reset"}, "a plain RNN has none"),
        ({"leak": 2}, "leak must be in"),
        ({"h_0": np.zeros(4)}, "h_0 must have shape"),
    ],
)
def test_arguments_that_contradict_the_module_are_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        load_network(model, **options)


def test_missing_and_bad_weights_are_named(model):
    state = model.state_dict()
    with pytest.raises(ValueError, match="rnn lacks weight_ih"):
        load_network({k: v for k, v in state.items() if "weight_ih" not in k})
    with pytest.raises(ValueError, match="weight_hh_l0 holds 1 numbers that are NaN"):
        bad = state["rnn.weight_hh_l0"].clone()
        bad[0, 0] = float("nan")
        load_network(state | {"rnn.weight_hh_l0": bad})
    with pytest.raises(TypeError, match="source must be a torch module"):
        load_network(3)


@pytest.mark.parametrize("removed", ["RR", "CR", "CC", "RR+CR+CC"])
def test_ablated_is_the_ablation_and_leaves_no_trace(model, removed):
    before, weight = outputs(model), model.rnn.weight_hh_l0
    kept = {k: v.clone() for k, v in model.state_dict().items()}
    network = load_network(model)
    expected = network.run(INPUTS, pl.ablate(network.W_hh, removed))
    with ablated(model, removed) as same_model:
        assert same_model is model and model.rnn.weight_hh_l0 is weight
        inside = outputs(model)
    np.testing.assert_allclose(inside, expected, rtol=0, atol=1e-12)
    assert not np.allclose(inside, before)
    with ablated(network, removed) as other:
        np.testing.assert_allclose(other.run(INPUTS), expected, rtol=0, atol=1e-12)
    assert all(torch.equal(v, kept[k]) for k, v in model.state_dict().items())
    assert np.array_equal(outputs(model), before)


def test_ablated_restores_after_an_exception_and_nested(model):
    before = model.rnn.weight_hh_l0.detach().clone()
    with pytest.raises(KeyError), ablated(model, "CC"), ablated(model, "CR"):
        raise KeyError
    assert torch.equal(model.rnn.weight_hh_l0, before)
    with ablated(model, "CC"):
        once = model.rnn.weight_hh_l0.detach().clone()
        with ablated(model, "RR"):
            pass
        assert torch.equal(model.rnn.weight_hh_l0, once)
    with pytest.raises(ValueError, match="removed must be one of"), ablated(model, "XX"):
        pass
    assert torch.equal(model.rnn.weight_hh_l0, before) and model.rnn.weight_hh_l0.requires_grad
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    with ablated(model, "CC"):
        model(torch.from_numpy(INPUTS)).sum().backward()
        optimiser.step()
        assert not torch.equal(model.rnn.weight_hh_l0, before)
    assert torch.equal(model.rnn.weight_hh_l0, before)


def test_ablated_takes_one_gate(model):
    gru = nn.GRU(3, 5)
    before = gru.weight_hh_l0.detach().clone()
    with ablated(gru, "CC", gate="update"):
        inside = gru.weight_hh_l0.detach()
        assert torch.equal(inside[:5], before[:5]) and torch.equal(inside[10:], before[10:])
        expected = pl.ablate(before[5:10], "CC")
        np.testing.assert_allclose(inside[5:10].numpy(), expected, rtol=0, atol=1e-7)
        assert not torch.equal(inside[5:10], before[5:10])
    assert torch.equal(gru.weight_hh_l0, before)
    with pytest.raises(ValueError, match="gate must name"), ablated(gru, "CC"):
        pass
    with pytest.raises(ValueError, match="a plain RNN has"), ablated(model, "CC", gate="update"):
        pass

    class Renamed(nn.GRU):
        pass

    with ablated(Renamed(3, 5), "CC", gate="update") as module:
        assert isinstance(module, Renamed)
    network = load_network(gru, gate="update")
    with pytest.raises(ValueError, match="gate='reset' are for modules"), \
            ablated(network, "CC", gate="reset"):
        pass
    with ablated(network, "CC") as other:
        assert np.array_equal(other.run(INPUTS), network.run(INPUTS, pl.ablate(network.W_hh, "CC")))


def test_a_parametrised_matrix_is_read_but_not_replaced():
    rnn = nn.RNN(3, 6).double()
    nn.utils.parametrizations.orthogonal(rnn, "weight_hh_l0")
    assert np.allclose(np.linalg.svd(load_network(rnn).W_hh)[1], 1)
    with pytest.raises(TypeError, match="weight_hh_l0 is parametrised"), ablated(rnn, "CC"):
        pass
    with pytest.raises(ValueError, match="holds parametrizations.weight_hh_l0.original"):
        load_network(rnn.state_dict())


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_a_parametrised_readout_is_read_and_left_untouched(model, norm):
    getattr(nn.utils.parametrizations, norm)(model.fc)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    network = load_network(model)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    same(network, model.eval())
    with pytest.raises(ValueError, match="holds fc.parametrizations.weight.original"):
        load_network(model.state_dict())


def test_a_pruned_matrix_is_refused_and_an_unused_one_is_not(model):
    nn.utils.prune.random_unstructured(model.rnn, "weight_hh_l0", 0.3)
    with pytest.raises(TypeError, match="weight_hh_l0 is no parameter.*prune.remove"):
        load_network(model)
    # In its place an ablated matrix would be overwritten at the next call.
    with pytest.raises(TypeError, match="weight_hh_l0 is no parameter"), ablated(model, "CC"):
        pass
    nn.utils.prune.remove(model.rnn, "weight_hh_l0")
    same(load_network(model), model)
    nn.utils.prune.random_unstructured(model.fc, "weight", 0.3)
    with pytest.raises(TypeError, match="weight is no parameter"):
        load_network(model)
    assert load_network(model, readout=False).n_out == 6


def test_a_keras_layers_list_of_arrays_is_told_how_to_be_named():
    arrays = {f"arr_{i}": np.ones((3, 3)) for i in range(3)}
    with pytest.raises(ValueError, match=r"no W_xh and no W_hh.*get_weights\(\)"):
        load_network(arrays, convention="row")
    with pytest.raises(ValueError, match="no W_hh in the source") as caught:
        load_network({"W_xh": np.ones((3, 3))}, convention="row")
    assert all(name in str(caught.value) for names in pl.ARRAY_NAMES.values() for name in names)


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model"])
def test_a_checkpoint_holds_its_state_dict_under_a_usual_name(key, model):
    state = model.state_dict()
    found, known = load_network({key: state, "epoch": 3}), load_network(state)
    np.testing.assert_array_equal(found.W_hh, known.W_hh)


def test_a_network_says_what_it_is():
    layer = load_network(nn.RNN(3, 4))
    assert repr(layer) == "<Network: 3 inputs, 4 tanh units, 4 outputs>"
    leaky = load_network(nn.RNN(3, 4), leak=0.5)
    assert repr(leaky).endswith("leak 0.5 on the rate>")
    assert "gate update" in repr(load_network(nn.GRU(3, 4), gate="update"))


def test_units_with_biases_and_a_readout_without_are_asked_about():
    arrays = {"W_xh": np.ones((4, 3)), "W_hh": np.eye(4), "W_hy": np.ones((2, 4))}
    arrays["b_h"] = np.ones(4)
    asked = "readout has none"
    assert any(asked in n for n in load_network(arrays, convention="column").notes)
    arrays["b_y"] = np.zeros(2)
    assert not any(asked in n for n in load_network(arrays, convention="column").notes)


def test_the_notebook_lists_the_names_of_arrays():
    page = (pl.project_root() / "notebooks" / "your_network.py").read_text(encoding="utf-8")
    for name, (_, *others) in pl.ARRAY_NAMES.items():
        assert f"| `{name}` | {', '.join(f'`{other}`' for other in others)} |" in page
