/** The form for the API key. The key stays in this tab and is forgotten when it is closed. */

import { html, useState } from "../lib/ui.js";
import { keyNeeded, Problem, request, storedKey, storeKey } from "../lib/api.js";

export function SignIn() {
  const [problem, setProblem] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    const key = new FormData(event.target).get("key").trim();
    storeKey(key);
    try {
      await request("v1/system");
      keyNeeded.value = false;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      storeKey(null);
      setProblem(error.message);
    }
  };
  return html`<main class="sign-in">
    <form class="card" onSubmit=${submit}>
      <h1><img src="page/icon.svg" alt="" width="32" height="32" /> Adjoint</h1>
      <p>${storedKey() ? "The server does not accept the key of this tab." : "This server needs an API key."} The key stays in this tab; closing the tab forgets it.</p>
      <label class="field">API key
        <input name="key" type="password" autocomplete="off" required autofocus aria-describedby="sign-in-problem" />
      </label>
      <p id="sign-in-problem" class="bad" role="alert">${problem}</p>
      <div class="buttons"><button class="primary">Sign in</button></div>
      <p class="muted">An administrator creates keys with <code>adjoint keys create</code>.</p>
    </form>
  </main>`;
}
