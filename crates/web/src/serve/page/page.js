"use strict";

const find = (id) => document.getElementById(id);
let models = [];
let examples = {};

function headers(more) {
  const token = find("token").value;
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function load() {
  const answer = await fetch("openapi.json", { headers: headers({}) });
  if (!answer.ok) {
    find("about").textContent = (await answer.json()).error;
    return;
  }
  const paths = (await answer.json()).paths;
  models = (await (await fetch("v1/models", { headers: headers({}) })).json()).models;
  for (const model of models) {
    const body = paths[`/v1/models/${model.name}:predict`].post.requestBody;
    examples[model.name] = body.content["application/json"].example[0];
  }
  find("model").replaceChildren(...models.map((model) => new Option(model.name)));
  show();
}

function chosen() {
  return models.find((model) => model.name === find("model").value);
}

function show() {
  const model = chosen();
  if (!model) return;
  const target = model.target ? ` predicts ${model.target.name}` : "";
  find("about").textContent = `${model.model}${target}, fitted on ${model.fitted_rows} rows, version ${model.version}`;
  find("cells").replaceChildren(...model.columns.map((column) => {
    const label = document.createElement("label");
    label.textContent = `${column.name} (${column.kind})`;
    const example = examples[model.name][column.name];
    let input = document.createElement("input");
    if (column.kind === "category" && column.levels.length <= 100) {
      input = document.createElement("select");
      input.append(new Option("(missing)", ""), ...column.levels.map((level) => new Option(level)));
    }
    input.value = example ?? "";
    input.dataset.column = column.name;
    input.addEventListener("input", command);
    label.append(input);
    return label;
  }));
  command();
}

function body() {
  const row = {};
  for (const input of find("cells").querySelectorAll("[data-column]")) {
    row[input.dataset.column] = input.value === "" ? null : input.value;
  }
  return JSON.stringify([row]);
}

function address() {
  const explain = find("explain").checked ? "?explain=true" : "";
  return `v1/models/${encodeURIComponent(find("model").value)}:predict${explain}`;
}

function command() {
  const quoted = body().replaceAll("'", "'\\''");
  const address_of = new URL(address(), location.href);
  find("command").textContent = `curl '${address_of}' -H 'content-type: application/json' -d '${quoted}'`;
}

async function predict() {
  try {
    const options = { method: "POST", headers: headers({ "content-type": "application/json" }), body: body() };
    const answer = await fetch(address(), options);
    find("answer").textContent = JSON.stringify(await answer.json(), null, 2);
  } catch (problem) {
    find("answer").textContent = String(problem);
  }
}

find("model").addEventListener("change", show);
find("token").addEventListener("change", load);
find("explain").addEventListener("change", command);
find("predict").addEventListener("click", predict);
load();
