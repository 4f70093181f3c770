//! The OpenAPI document: what each model takes, from its schema.

use super::models::Slot;
use ermine::Output;
use ermine_app::table::{Field, Kind};
use serde_json::{Value, json};

pub fn document(slots: &[Slot], guarded: bool) -> Value {
    let mut paths = json!({
        "/healthz": plain("Whether the server runs", &[]),
        "/readyz": plain("Whether it takes requests", &["503"]),
        "/metrics": plain("Counters in the text format of Prometheus", if guarded { &["401"] } else { &[] }),
        "/v1/models": { "get": { "summary": "All models", "operationId": "models", "responses": described() } },
    });
    for slot in slots {
        let name = &slot.name;
        paths[format!("/v1/models/{name}")] = json!({
            "get": {
                "summary": format!("Columns, scores and version of {name}"),
                "operationId": format!("model {name}"),
                "responses": described(),
            }
        });
        paths[format!("/v1/models/{name}:predict")] = predict(slot);
    }
    let mut all = json!({
        "openapi": "3.1.0",
        "info": { "title": "Ermine models", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {
                        "error": { "type": "string" },
                        "cells": {
                            "type": "array",
                            "description": "The first values that cannot be used.",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "row": { "type": ["integer", "null"], "description": "Counted from 1." },
                                    "column": { "type": ["string", "null"] },
                                    "value": { "type": ["string", "null"] },
                                    "problem": { "type": "string" },
                                },
                            },
                        },
                    },
                },
            },
        },
    });
    if guarded {
        all["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
        all["security"] = json!([{ "token": [] }]);
    }
    all
}

/// A route that answers in plain text.
fn plain(summary: &str, failures: &[&str]) -> Value {
    let mut responses = json!({
        "200": { "description": "Yes.", "content": { "text/plain": { "schema": { "type": "string" } } } },
    });
    for status in failures {
        responses[*status] = failure(status);
    }
    let id = summary.to_lowercase();
    json!({ "get": { "summary": summary, "operationId": id, "responses": responses } })
}

fn failure(status: &str) -> Value {
    let description = match status {
        "400" => "The body is not what its form promises, or the query is wrong.",
        "401" => "The token is missing or wrong.",
        "404" => "There is no such model.",
        "408" => "The body came too slowly.",
        "413" => "Too many rows or bytes.",
        "415" => "Neither JSON, CSV nor Arrow.",
        "422" => "Values that cannot be used, by row, column and value.",
        _ => "Too busy, or stopping; try again later.",
    };
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// The answers of a route that speaks JSON.
fn described() -> Value {
    let schema = json!({ "type": "object" });
    json!({
        "200": { "description": "As described.", "content": { "application/json": { "schema": schema } } },
        "401": failure("401"),
        "404": failure("404"),
    })
}

fn predict(slot: &Slot) -> Value {
    let loaded = slot.current();
    let fields = &loaded.fitted.header.schema.columns;
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let cells: serde_json::Map<String, Value> = fields.iter().map(|field| (field.name.clone(), cell(field))).collect();
    let lists: serde_json::Map<String, Value> =
        cells.iter().map(|(name, cell)| (name.clone(), json!({ "type": "array", "items": cell }))).collect();
    let records = json!({
        "type": "array",
        "items": { "type": "object", "required": names, "properties": cells },
    });
    let columns = json!({
        "type": "object", "required": names, "properties": lists,
        "description": "A list for each column; all lists have the same length.",
    });
    let named = |key: &str, of: &Value| {
        let properties = json!({ key: of });
        json!({ "type": "object", "required": [key], "additionalProperties": false, "properties": properties })
    };
    let example: serde_json::Map<String, Value> =
        fields.iter().map(|field| (field.name.clone(), example(field, &loaded.fitted))).collect();
    let answer = json!({
        "type": "object",
        "required": ["model", "version", "predictions"],
        "properties": {
            "model": { "type": "string" },
            "version": { "type": "string" },
            "predictions": { "type": ["array", "object"], "description": "In the form of the rows." },
        },
    });
    let mut responses = json!({
        "200": {
            "description": "A prediction for each row.",
            "headers": { "ermine-model-version": { "schema": { "type": "string" } } },
            "content": {
                "application/json": { "schema": answer },
                "text/csv": { "schema": { "type": "string" } },
            },
        },
    });
    for status in ["400", "401", "404", "408", "413", "415", "422", "503"] {
        responses[status] = failure(status);
    }
    let known = loaded.fitted.model.outputs();
    let outputs: Vec<String> = known.iter().map(|(output, _)| ermine_app::wire::name_of(*output)).collect();
    let mut all = json!({
        "post": {
            "summary": format!("Predict with {}", slot.name),
            "operationId": format!("predict {}", slot.name),
            "parameters": [
                {
                    "name": "output", "in": "query", "style": "form", "explode": false,
                    "description": "What to answer; without it the prediction, and probabilities if there are any.",
                    "schema": {
                        "type": "array", "minItems": 1, "uniqueItems": true,
                        "items": { "type": "string", "enum": outputs },
                    },
                },
                {
                    "name": "explain", "in": "query",
                    "description": "Shapley values of each column, for at most 100 rows.",
                    "schema": { "type": "boolean" },
                },
            ],
            "requestBody": {
                "required": true,
                "content": {
                    "application/json": {
                        "schema": { "anyOf": [records, named("records", &records), named("columns", &columns)] },
                        "example": [example],
                    },
                    "text/csv": { "schema": { "type": "string" } },
                },
            },
            "responses": responses,
        }
    });
    if loaded.fitted.has(Output::Deviation) {
        let interval = json!({
            "name": "interval", "in": "query",
            "description": "Level of an interval around each predicted number.",
            "schema": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
        });
        all["post"]["parameters"].as_array_mut().expect("a list").push(interval);
    }
    all
}

/// What a cell may hold; null is missing.
fn cell(field: &Field) -> Value {
    match field.kind {
        Kind::Number => json!({ "type": ["number", "null"] }),
        Kind::Boolean => json!({ "type": ["boolean", "null"] }),
        Kind::Category => {
            let some: Vec<&String> = field.levels.iter().take(20).collect();
            json!({ "type": ["string", "null"], "examples": some })
        }
        Kind::Text => json!({ "type": ["string", "null"] }),
        Kind::Date => json!({ "type": ["string", "null"], "format": "date" }),
        Kind::DateTime => json!({ "type": ["string", "null"], "format": "date-time" }),
    }
}

/// A value as the model has seen it.
pub fn example(field: &Field, fitted: &ermine_app::Fitted) -> Value {
    let place = fitted.features().columns.iter().position(|known| known == field);
    let profile = fitted.header.profile.as_ref().zip(place).map(|(profile, place)| &profile.columns[place]);
    match field.kind {
        Kind::Number => {
            let middle = profile.and_then(|column| column.quantiles.get(column.quantiles.len() / 2));
            json!(middle.copied().unwrap_or(0.0))
        }
        Kind::Boolean => json!(true),
        Kind::Category => json!(field.levels.first()),
        Kind::Text => json!("some text"),
        Kind::Date => json!("2024-03-01"),
        Kind::DateTime => json!("2024-03-01T10:00:00"),
    }
}
