// What a person would see of an error on this page: banners, a framework's error overlay, or nothing at all.
() => {
  const text = (element) => (element?.innerText ?? element?.textContent ?? "").trim();
  const visible = (element) => {
    const box = element.getBoundingClientRect();
    const seen = element.checkVisibility?.({ opacityProperty: true, visibilityProperty: true }) ?? true;
    return seen && box.width > 4 && box.height > 4;
  };
  const framed = (selector) => text(document.querySelector(selector)?.contentDocument?.body);
  const shadowed = (host, selector) => text(document.querySelector(host)?.shadowRoot?.querySelector(selector));

  const overlays = {
    Vite: shadowed("vite-error-overlay", ".message-body") || shadowed("vite-error-overlay", ".message"),
    "Next.js": shadowed("nextjs-portal", "[data-nextjs-dialog], [data-nextjs-error-overlay]"),
    webpack:
      framed("#webpack-dev-server-client-overlay") ||
      framed("#webpack-hot-middleware-clientOverlay") ||
      text(document.querySelector("div#webpack-hot-middleware-clientOverlay")),
    Django:
      document.querySelector("#summary") && document.querySelector("#traceback, #pastebinTraceback, #explanation")
        ? text(document.querySelector("#summary h1")) + " " + text(document.querySelector("#summary .exception_value"))
        : "",
    Flask: document.querySelector("div.debugger div.traceback")
      ? text(document.querySelector("div.debugger .errormsg") ?? document.querySelector("div.debugger h1"))
      : "",
    Rails: document.querySelector("#Application-Trace-0, #Application-Trace, .exception-message")
      ? text(document.querySelector("header h1") ?? document.querySelector("h1")) +
        " " +
        text(document.querySelector(".exception-message, #container h2"))
      : "",
  };

  // A banner that says that all is well is called success or info by every library that has one.
  const isWell = (element) => {
    const names = element.getAttribute("class") ?? "";
    return /success|info(?![a-z])/i.test(names) && !/error|danger/i.test(names);
  };
  // Without a role, its names say what it is: error-banner, alert-danger, errorMessage, notification is-danger.
  // A button or a link that is dangerous to press is no error, nor is the red text of a required field.
  const bad = /^(errors?|danger|fail(ed|ure)?|fatal|negative|errorlist|errornote)$/;
  const said = /^(banner|alert|toast|notification|notice|message|flash|snackbar|summary|explanation|errorlist|errornote)$/;
  const words = (element) =>
    `${element.getAttribute("class") ?? ""} ${element.id}`
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .split(/[^a-z]+/);
  const isNamed = (element) => {
    const names = words(element);
    return names.some((name) => bad.test(name)) && names.some((name) => said.test(name));
  };
  const named = ["error", "danger", "fail", "fatal", "negative"].flatMap((word) => [`[class*=${word} i]`, `[id*=${word} i]`]);
  const pressed = "a, button, input, select, textarea, label, option";
  const banners = [...document.querySelectorAll(['[role="alert"]', ...named].join())]
    .filter((element) => element.role === "alert" || (isNamed(element) && !element.matches(pressed)))
    .filter((element) => visible(element) && !isWell(element))
    .filter((element, _, all) => !all.some((other) => other !== element && other.contains(element)));

  const isHtml = /html/.test(document.contentType);
  const media = "img, svg, canvas, video, audio, iframe, object, embed, input, button, select, textarea";
  const shadows = [...document.querySelectorAll("*")].some((element) => element.shadowRoot && visible(element));
  const painted = () =>
    [document.body, ...document.body.querySelectorAll("*")].some(
      (element) => visible(element) && /url\(|gradient/.test(getComputedStyle(element).backgroundImage),
    );
  const blank =
    isHtml &&
    (!document.body ||
      (!text(document.body) &&
        !shadows &&
        ![...document.body.querySelectorAll(media)].some(visible) &&
        !painted()));

  return {
    overlays: Object.entries(overlays).filter(([, message]) => message.trim()),
    banners: banners.map(text).filter(Boolean),
    blank,
  };
};
