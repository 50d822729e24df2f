"use strict";
// Shows the server's own OpenAPI document; asks for a key where the server needs one to read it.

const form = document.getElementById("key");
const field = document.getElementById("value");

async function show(key) {
  const headers = key ? { "X-API-Key": key } : {};
  const answer = await fetch("openapi.json", { headers });
  if (!answer.ok) {
    const problem = await answer.json();
    form.hidden = false;
    document.getElementById("problem").textContent = key ? problem.detail : "";
    return;
  }
  form.hidden = true;
  const ui = SwaggerUIBundle({
    spec: await answer.json(),
    dom_id: "#interface",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    displayRequestDuration: true,
    persistAuthorization: false,
    tryItOutEnabled: true,
    validatorUrl: null, // by default a service of others is asked
    onComplete: () => key && ui.preauthorizeApiKey("key", key),
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(field.value);
});
show("");
