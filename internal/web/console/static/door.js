// Passkeys: a form with data-passkey asks that address to begin and to finish a ceremony.
"use strict";
(() => {
  const supported = window.PublicKeyCredential && PublicKeyCredential.parseCreationOptionsFromJSON;
  if (!supported) return;
  const post = async (path, body) => {
    const answer = await fetch(path, { method: "POST", body: body, headers: { "Content-Type": "application/json" } });
    const text = await answer.text();
    if (!answer.ok) {
      let why = "That did not work.";
      try { why = JSON.parse(text).detail || why; } catch { /* no problem that says more */ }
      throw new Error(why);
    }
    return text ? JSON.parse(text) : {};
  };
  // A browser refuses passkeys for an address in numbers, and for a name that they were not made for.
  const elsewhere = () => {
    const here = location.hostname.replace(/[[\]]/g, "");
    if (here === "::1" || here.startsWith("127.")) {
      return "Passkeys need a name in place of " + here + ": open http://localhost" + (location.port ? ":" + location.port : "") + location.pathname + ".";
    }
    return "Passkeys do not work at " + location.host + ": open the address that lab.yaml gives as url, or under passkeys.";
  };
  const why = (fault) => ({ NotAllowedError: "No passkey was given.", SecurityError: elsewhere() })[fault.name] || fault.message;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const path = form.dataset.passkey, said = form.querySelector("[role=status]");
      said.textContent = "";
      try {
        const begun = await post(path + "/begin", "{}");
        let made;
        if (path === "/account/passkeys") {
          made = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(begun.options.publicKey) });
        } else {
          made = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(begun.options.publicKey) });
        }
        const name = form.elements.name ? form.elements.name.value : "";
        await post(path + "/finish", JSON.stringify({ ceremony: begun.ceremony, name: name, answer: made.toJSON() }));
        location.assign(form.dataset.next || "/");
      } catch (fault) {
        said.textContent = why(fault);
      }
    });
  }
})();
