from types import SimpleNamespace

import data
import measures
import numpy as np
from harness import Bench, Contender, find, fitted, same, task, threads

# Stops after the given number of passes and not before.
EXACT = dict(tol=0.0, n_iter_no_change=10_000, random_state=0)
ADAM = dict(rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8)


def jax_network(X, y, hidden, epochs, batch, number):
    """One hidden ReLU layer, softmax, Adam, as somebody who knows JAX writes it: one compiled loop per epoch."""

    def prepare():
        find("jax.jit")
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)  # allows both; every array says which

        sizes = [X.shape[1], hidden, int(y.max()) + 1]
        rng = np.random.default_rng(0)
        start = [
            (rng.uniform(-1, 1, (a, b)).astype(number) * number(np.sqrt(6 / (a + b))), np.zeros(b, number))
            for a, b in zip(sizes, sizes[1:])
        ]

        def scores(params, X):
            (W1, b1), (W2, b2) = params
            return jax.nn.relu(X @ W1 + b1) @ W2 + b2

        def loss(params, X, y):
            l2 = sum((W * W).sum() for W, _ in params) * 1e-4 / 2 / batch
            return l2 - jnp.take_along_axis(jax.nn.log_softmax(scores(params, X)), y[:, None], 1).mean()

        def step(state, rows):
            params, m, v, t, X, y = state
            g = jax.grad(loss)(params, X[rows], y[rows])
            t = t + 1
            m = jax.tree.map(lambda m, g: ADAM["beta1"] * m + (1 - ADAM["beta1"]) * g, m, g)
            v = jax.tree.map(lambda v, g: ADAM["beta2"] * v + (1 - ADAM["beta2"]) * g * g, v, g)
            rate = ADAM["rate"] * jnp.sqrt(1 - ADAM["beta2"] ** t) / (1 - ADAM["beta1"] ** t)
            params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + ADAM["eps"]), params, m, v)
            return (params, m, v, t, X, y), None

        epoch = jax.jit(lambda state, rows: jax.lax.scan(step, state, rows)[0])
        Xs, ys = jnp.asarray(X, number), jnp.asarray(y)

        def train():
            rng = np.random.default_rng(0)
            zero = jax.tree.map(np.zeros_like, start)
            state = (start, zero, zero, number(0), Xs, ys)
            for _ in range(epochs):
                rows = rng.permutation(len(y))[: len(y) // batch * batch].reshape(-1, batch)
                state = epoch(state, rows)
            params = jax.block_until_ready(state[0])
            return SimpleNamespace(predict_proba=lambda X: jax.nn.softmax(scores(params, X.astype(number))))

        return train

    return Contender(lambda train: train(), prepare)


def torch_network(X, y, hidden, epochs, batch):
    def prepare():
        find("torch.nn.Linear")
        import torch

        torch.set_num_threads(threads())
        return torch, torch.tensor(X, dtype=torch.float32), torch.tensor(y)

    def train(prepared):
        torch, Xs, ys = prepared
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, int(y.max()) + 1)
        )
        optimiser = torch.optim.Adam(net.parameters(), lr=ADAM["rate"], weight_decay=1e-4 / batch)
        for _ in range(epochs):
            for rows in torch.randperm(len(ys)).split(batch):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(net(Xs[rows]), ys[rows]).backward()
                optimiser.step()

        def predict_proba(X):
            with torch.no_grad():
                return net(torch.tensor(X, dtype=torch.float32)).softmax(1).numpy()

        return SimpleNamespace(predict_proba=predict_proba)

    return Contender(train, prepare)


@task("MLP 784-128-10, MNIST 60,000, 5 epochs", family="neural", target={"sklearn": 2.0, "torch": 1.0, "jax": 1.0})
def mnist(env):
    X, y = data.mnist(env)
    n = env.n(60_000)
    X, y = X[:n], y[:n]
    shape = dict(batch_size=200, max_iter=5, hidden_layer_sizes=(128,))
    contenders = same("neural_network.MLPClassifier", X, y, peers=["sklearn"], **shape, **EXACT) | {
        "torch (float32)": torch_network(X, y, 128, 5, 200),
        "jax (float32)": jax_network(X, y, 128, 5, 200, np.float32),
        "jax (float64)": jax_network(X, y, 128, 5, 200, np.float64),
    }
    # Same number of steps from different random starts: the loss agrees to some per cent.
    return Bench(contenders, measures.log_loss(X[:20_000], y[:20_000]), 0.15)


@task("MLP 20-32-2, 5,000 x 20, 50 epochs", family="neural", target=5.0)
def small(env):
    X, y = data.curved_classes(env.n(5_000), 20)
    shape = dict(batch_size=100, max_iter=50, hidden_layer_sizes=(32,))
    contenders = same("neural_network.MLPClassifier", X, y, peers=["sklearn"], **shape, **EXACT)
    return Bench(contenders, measures.log_loss(X, y), 0.15)


@task("MLP predict, one row", family="neural", target=1.0)
def latency(env):
    X, y = data.curved_classes(2_000, 20)
    then = lambda m: [m.predict(X[i : i + 1])[0] for i in range(200)]
    contenders = fitted("neural_network.MLPClassifier", X, y, peers=["sklearn"], then=then, hidden_layer_sizes=(32,), random_state=0)
    return Bench(contenders, lambda p: np.mean(np.asarray(p) == y[:200]), 0.05, better="higher", per=200, memory=False)
