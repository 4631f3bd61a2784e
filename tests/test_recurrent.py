"""Foreign networks run as they were trained: torch's own modules and plain loops are the oracle."""

import numpy as np
import pytest
import torch

from paperlib.recurrent import GATES, Gated, Network, as_weights

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(7, 11, 3))


def weights(n=5, **change):
    found = {
        "W_xh": RNG.normal(size=(n, 3)), "W_hh": RNG.normal(size=(n, n)) / n**0.5,
        "W_hy": RNG.normal(size=(2, n)), "b_h": RNG.normal(size=n), "b_y": RNG.normal(size=2),
        "h_0": RNG.normal(size=n),
    }
    return found | change


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("leak_on", ["rate", "potential"])
@pytest.mark.parametrize("leak", [1.0, 0.3])
def test_a_network_is_its_equations(activation, leak_on, leak):
    w = weights()
    outputs = Network(**w, activation=activation, leak=leak, leak_on=leak_on).run(INPUTS)
    f = np.tanh if activation == "tanh" else lambda v: np.maximum(v, 0)
    for trial, xs in enumerate(INPUTS):
        state = w["h_0"]
        for t, x in enumerate(xs):
            if leak_on == "rate":
                drive = f(w["W_xh"] @ x + w["W_hh"] @ state + w["b_h"])
            else:
                drive = w["W_xh"] @ x + w["W_hh"] @ f(state) + w["b_h"]
            state = (1 - leak) * state + leak * drive
            h = state if leak_on == "rate" else f(state)
            np.testing.assert_allclose(
                outputs[trial, t], w["W_hy"] @ h + w["b_y"], rtol=0, atol=1e-12
            )


def test_without_a_readout_the_states_are_the_outputs():
    w = weights(W_hy=None, b_y=None)
    network = Network(**w)
    assert network.n_out == 5 and any("no readout" in note for note in network.notes)
    first = np.tanh(INPUTS[:, 0] @ w["W_xh"].T + w["W_hh"] @ w["h_0"] + w["b_h"])
    np.testing.assert_allclose(network.run(INPUTS)[:, 0], first, rtol=0, atol=1e-12)


def test_another_recurrent_matrix_is_another_network():
    w = weights()
    other = RNG.normal(size=(5, 5))
    found = Network(**w).run(INPUTS, other)
    assert np.array_equal(found, Network(**w | {"W_hh": other}).run(INPUTS))
    assert not np.allclose(found, Network(**w).run(INPUTS))


def test_outputs_do_not_depend_on_the_chunk(monkeypatch):
    network = Network(**weights())
    whole = network.run(INPUTS)
    monkeypatch.setattr("paperlib.recurrent.CHUNK_BYTES", 8 * 5 * 2)
    np.testing.assert_allclose(network.run(INPUTS), whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "gate"), [(kind, gate) for kind, gates in GATES.items() for gate in gates]
)
@pytest.mark.parametrize("biases", [True, False])
def test_a_gated_network_is_torchs_with_one_gate_exchanged(kind, gate, biases):
    torch.manual_seed(0)
    module = getattr(torch.nn, kind)(3, 4, batch_first=True, bias=biases).double()
    for weight in module.parameters():
        torch.nn.init.normal_(weight, std=0.5)  # of more digits than float32 has
    before = {k: v.clone() for k, v in module.state_dict().items()}
    random_state = torch.get_rng_state()
    network = Gated(module, gate)
    assert torch.equal(torch.get_rng_state(), random_state)
    x = torch.from_numpy(INPUTS)
    with torch.no_grad():
        np.testing.assert_allclose(network.run(INPUTS), module(x)[0].numpy(), rtol=0, atol=1e-12)
        start = 4 * GATES[kind].index(gate)
        assert np.array_equal(network.W_hh, module.weight_hh_l0[start : start + 4].numpy())
        other = RNG.normal(size=(4, 4))
        changed = network.run(INPUTS, other)
        assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
        module.weight_hh_l0[start : start + 4] = torch.from_numpy(other)
        np.testing.assert_allclose(changed, module(x)[0].numpy(), rtol=0, atol=1e-12)
        module.weight_ih_l0.zero_()  # the network is a copy
        assert np.array_equal(network.run(INPUTS, other), changed)
    assert np.array_equal(network.replaced(other).run(INPUTS), changed)
    assert network.notes[0].startswith("Beyond the paper")


def test_what_the_paper_has_not_is_said():
    plain = Network(**weights(b_h=None, b_y=np.zeros(2), h_0=np.zeros(5)))
    assert plain.notes == ()
    every = Network(**weights(), activation="relu", leak=0.5, remarks=("x",)).notes
    assert len(every) == 5 and every[-1] == "x"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W_hh": np.ones((5, 4))}, "W_hh must have shape"),
        ({"W_xh": np.ones((4, 3))}, "W_xh must have shape"),
        ({"W_hy": np.ones((2, 4))}, "W_hy must have shape"),
        ({"b_h": np.ones(4)}, "b_h must have shape"),
        ({"b_y": np.ones(3)}, "b_y must have shape"),
        ({"W_hy": None}, "b_y is the bias of a readout, but there is no W_hy"),
        ({"h_0": np.ones((1, 5))}, "h_0 must have 1 axes"),
        ({"W_hh": np.full((5, 5), np.nan)}, "W_hh holds 25 numbers"),
        ({"W_xh": None}, "W_xh has dtype object"),
        ({"W_hh": np.ones((5, 5), int)}, "W_hh has dtype int64: cast"),
        ({"W_hh": np.ones((5, 5), np.float16)}, "W_hh has dtype float16: cast"),
        ({"W_hh": torch.ones(5, 5).to_sparse()}, "W_hh is sparse"),
        ({"W_hh": torch.ones(5, 5, dtype=torch.bfloat16)}, "W_hh has dtype bfloat16"),
        ({"W_hh": torch.ones(5, 5).to(torch.float8_e4m3fn)}, "W_hh has dtype float8_e4m3fn"),
        ({"W_hh": np.eye(5) * 1j}, "W_hh has dtype complex128"),
        ({"W_xh": [[1.0], [1.0, 2.0]]}, "W_xh is no array"),
        ({"activation": "gelu"}, "activation must be"),
        ({"leak": 0}, "leak must be in"),
        ({"leak": True}, "leak must be in"),
        ({"leak": float("nan")}, "leak must be in"),
        ({"leak_on": "voltage"}, "leak_on must be"),
    ],
)
def test_bad_weights_are_named(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Network(**weights(**change))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.ones((2, 3)), "axes .trial, time, channel."),
        (np.ones((0, 3, 3)), "not be empty"),
        (np.ones((3, 4, 2)), "2 channels, the network takes 3 .axis 0 has 3"),
        (np.full((1, 1, 3), np.inf), "NaN or infinite"),
        (np.ones((1, 1, 3), complex), "real numbers"),
        (np.array([[["a", "b", "c"]]]), "real numbers"),
    ],
)
def test_bad_inputs_are_named(inputs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Network(**weights()).run(inputs)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((4, 4)), "W_hh must have shape .5, 5."),
        (np.full((5, 5), np.inf), "W_hh holds 25 numbers that are NaN or infinite"),
        (np.eye(5) * 1j, "W_hh has dtype complex128"),
    ],
)
def test_another_matrix_that_does_not_fit_is_named(matrix, message):
    for network in (Network(**weights()), Gated(torch.nn.GRU(3, 5), "reset")):
        with pytest.raises((TypeError, ValueError), match=message):
            network.run(INPUTS, matrix)


@pytest.mark.parametrize(
    ("module", "readout", "message"),
    [
        (lambda: torch.nn.RNN(3, 5), {}, "gate='reset': a plain RNN has none"),
        (lambda: torch.nn.GRU(3, 5, num_layers=2), {}, "num_layers = 2"),
        (lambda: torch.nn.Linear(3, 5), {}, "module must be an RNN, GRU or LSTM, got Linear"),
        (lambda: torch.nn.GRU(3, 5), {"W_hy": np.ones((2, 4))}, r"W_hy must have shape \(2, 5\)"),
        (lambda: torch.nn.GRU(3, 5), {"W_hy": np.ones((2, 5)), "b_y": np.ones(3)}, "b_y must have"),
        (lambda: torch.nn.GRU(3, 5), {"b_y": np.ones(3)}, "there is no W_hy"),
    ],
)
def test_bad_gated_networks_are_named(module, readout, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Gated(module(), "reset", **readout)


def test_inputs_of_any_type_and_layout_give_the_same_outputs():
    network = Network(**weights())
    whole = np.rint(3 * INPUTS)
    fixed = whole.copy()
    fixed.flags.writeable = False
    expected = network.run(whole)
    for same in (
        fixed, whole.astype(np.float32), whole.astype(int), torch.from_numpy(whole), whole.tolist(),
        np.asfortranarray(whole), np.repeat(whole, 2, axis=1)[:, ::2],
    ):
        assert np.array_equal(network.run(same), expected)


@pytest.mark.parametrize("leak_on", ["rate", "potential"])
def test_a_relu_network_that_blows_up_reaches_infinity_and_not_nan(leak_on):
    one = np.ones((1, 1))
    network = Network(one, 1e200 * one, activation="relu", leak_on=leak_on)
    outputs = network.run(np.ones((1, 5, 1)))[0, :, 0]
    assert list(outputs) == [1, 1e200, np.inf, np.inf, np.inf]


def test_weights_keep_their_precision_and_are_copies():
    mine = np.ones((2, 2), np.float32)
    kept = as_weights("W", mine, 2)
    mine[:] = 0
    assert kept.dtype == np.float32 and kept.all()
