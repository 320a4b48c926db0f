"use strict";
(() => {
  const data = document.getElementById("people-data");
  if (!data) return;
  const people = JSON.parse(data.textContent);
  const byId = (id) => document.getElementById(id);
  const search = byId("person-search"), names = Object.keys(people);

  function element(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  function show(name) {
    const person = people[name];
    byId("person-name").textContent = name;
    const [events, first, ten] = person.record || [0, 0, 0];
    byId("person-record").textContent = events
      ? `Of ${events} events in the last four weeks, ${first} went to the partner that was forecast first and ${ten} to one of the first ten.`
      : "Has not acted on anyone followed since the first forecast.";
    byId("person-partners").replaceChildren(...person.partners.map((one) => {
      const share = `${(100 * one.probability).toFixed(one.probability < 0.1 ? 1 : 0)} %`;
      return element("li", `${one.partner}: ${share} within a day${one.expected ? `, expected ${one.expected}` : ""}`);
    }));
  }

  byId("people").replaceChildren(...names.map((name) => {
    const option = document.createElement("option");
    option.value = name;
    return option;
  }));
  search.addEventListener("input", () => {
    const asked = search.value.trim().toLowerCase();
    const match = names.find((name) => name.toLowerCase() === asked);
    if (match !== undefined) show(match);
  });
  if (names.length) show(names[0]);
})();
