/** What the playground starts with. */

const program = (text, variables) => ({ form: "program", text, variables });
const layers = (definition, fit) => ({ form: "document", text: JSON.stringify(definition, null, 2), fit });
const value = (role, shown, dtype = "float32") => ({ role, value: shown, dtype });

const BLOCK = { layer: "transformer_encoder_layer", heads: 4, width: 256, dropout: 0, activation: "gelu", norm_first: true, causal: true };

/** @type {Record<string, {label: string, form: string, text: string, variables?: any, fit?: any}>} */
export const EXAMPLES = {
  parabola: {
    label: "ggml's example: a x² + b",
    ...program("f = a * x ** 2 + b", { a: value("input", "3"), x: value("parameter", "2"), b: value("input", "4") }),
  },
  line: {
    label: "a line through points",
    ...program("pred = x @ w + c\nloss = mean((pred - y) ** 2)", {
      x: value("rows", "[[0, 1], [1, 0], [1, 1], [2, 1]]"), w: value("parameter", "[0.5, -0.5]"), c: value("parameter", "0"), y: value("rows", "[1, 2, 3, 5]"),
    }),
  },
  rosenbrock: {
    label: "Rosenbrock's valley, with its Hessian",
    ...program("# minimum 0 at x = y = 1\nf = (1 - x) ** 2 + 100 * (y - x ** 2) ** 2", { x: value("parameter", "-1.2", "float64"), y: value("parameter", "1", "float64") }),
  },
  iris: {
    label: "iris, layers",
    ...layers(
      {
        name: "iris",
        inputs: { flower: { shape: ["batch", 4], dtype: "float32" }, species: { shape: ["batch"], dtype: "int64" } },
        layers: [{ layer: "batch_norm" }, { layer: "linear", units: 16, activation: "tanh" }, { layer: "linear", units: 3 }],
        loss: { kind: "cross_entropy", target: "species" },
      },
      { epochs: 40, batch_size: 16, lr: 0.02, metrics: "accuracy" },
    ),
  },
  digits: {
    label: "digits, convolutions",
    ...layers(
      {
        name: "digits",
        inputs: { image: { shape: ["batch", 1, 8, 8], dtype: "float32" }, digit: { shape: ["batch"], dtype: "int64" } },
        layers: [
          { layer: "batch_norm" },
          { layer: "conv2d", channels: 16, kernel: 3, padding: 1, activation: "relu" },
          { layer: "batch_norm" },
          { layer: "conv2d", channels: 32, kernel: 3, padding: 1, activation: "relu" },
          { layer: "max_pool2d", kernel: 2 },
          { layer: "batch_norm" },
          { layer: "flatten" },
          { layer: "dropout", p: 0.4 },
          { layer: "linear", units: 10 },
        ],
        loss: { kind: "cross_entropy", target: "digit" },
      },
      { epochs: 12, batch_size: 64, lr: 0.002, metrics: "accuracy" },
    ),
  },
  characters: {
    label: "character transformer",
    ...layers(
      {
        name: "characters",
        inputs: { text: { shape: ["batch", 32], dtype: "int64" }, following: { shape: ["batch", 32], dtype: "int64" } },
        layers: [
          { layer: "embedding", rows: 97, units: 64 },
          { layer: "learned_positions", std: 0.02 },
          BLOCK,
          BLOCK,
          { layer: "layer_norm" },
          { layer: "linear", units: 97 },
          { layer: "permute", axes: [0, 2, 1] },
        ],
        loss: { kind: "cross_entropy", target: "following" },
      },
      { epochs: 3, batch_size: 32, lr: 0.003, metrics: "" },
    ),
  },
  newLayers: {
    label: "a new graph of layers",
    ...layers({
      name: "new",
      inputs: { x: { shape: ["batch", 4], dtype: "float32" }, y: { shape: ["batch", 1], dtype: "float32" } },
      layers: [{ layer: "linear", units: 1 }],
      loss: { kind: "mse_loss", target: "y" },
    }),
  },
  newNodes: {
    label: "a new graph of nodes",
    ...layers({
      name: "new",
      inputs: { x: { shape: [], dtype: "float32" } },
      parameters: { w: { shape: [], dtype: "float32" } },
      nodes: [{ name: "product", op: "mul", inputs: ["w", "x"] }],
      outputs: ["product"],
      losses: [],
    }),
  },
  nodes: {
    label: "nodes: a regression",
    ...layers({
      name: "nodes",
      inputs: { x: { shape: ["batch", 3], dtype: "float32" }, y: { shape: ["batch", 1], dtype: "float32" } },
      parameters: { w: { shape: [3, 1] }, b: { shape: [1] } },
      nodes: [
        { name: "product", op: "matmul", inputs: ["x", "w"] },
        { name: "pred", op: "add", inputs: ["product", "b"] },
        { name: "loss", op: "mse_loss", inputs: ["pred", "y"] },
      ],
      outputs: ["pred"],
      losses: ["loss"],
    }),
  },
};
