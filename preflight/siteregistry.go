package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var siteRegistry = Check{
	ID: "site-registry", Title: "Site registry serves every image to this host",
	Breaks: "A pod does not start if the site registry does not serve its image.",
	Source: "airgap: registry.existing; the nodes pull images only from there",
	Run:    judgeSiteRegistry,
}

func judgeSiteRegistry(f *facts.Facts, w *Want) Result {
	if w.SiteRegistry == "" {
		return skipped("the nodes pull images from the cluster's own registries")
	}
	const want = "every image of the bundle, without a login"
	missing, outcome := f.Asked.MissingImages, f.Asked.MissingImagesOutcome
	switch {
	case !outcome.Done:
		return Result{Status: Error, Found: "unknown: " + w.SiteRegistry + " was not queried", Fix: "run airgap preflight on this host"}
	case outcome.Failed != "":
		return Result{Fail, outcome.Failed, want,
			"let this host reach " + w.SiteRegistry + ", set its CA certificate in registry.existing.ca, and allow anonymous pulls from the project"}
	case len(missing) > 0:
		return Result{Fail, fmt.Sprintf("missing in %s: %s", w.SiteRegistry, strings.Join(missing, ", ")), want,
			"run airgap push DIR " + w.SiteRegistry + " on a host that reaches it"}
	}
	return pass("%s has all images", w.SiteRegistry)
}
