package preflight

import (
	"fmt"
	"strings"
)

var siteRegistry = Check{
	ID: "site-registry", Title: "The site's registry gives every image to this host",
	Breaks: "A pod whose image the site's registry does not give never starts.",
	Source: "airgap: registry.existing; the nodes get their images from there and from nowhere else",
	Run:    judgeSiteRegistry,
}

func judgeSiteRegistry(f *Facts, w *Want) Result {
	if w.SiteRegistry == "" {
		return skipped("images come from the cluster's own registries")
	}
	const want = "every image of the bundle, for anybody who asks"
	missing, try := f.Asked.MissingImages, f.Asked.MissingImagesTry
	switch {
	case !try.Made:
		return Result{Status: Error, Found: "could not tell: nobody asked " + w.SiteRegistry, Fix: "run airgap preflight on this host"}
	case try.Failed != "":
		return Result{Fail, try.Failed, want,
			"let this host reach " + w.SiteRegistry + ", name its authority in registry.existing.ca, and let everybody pull from the project"}
	case len(missing) > 0:
		return Result{Fail, fmt.Sprintf("%s lacks %s", w.SiteRegistry, strings.Join(missing, ", ")), want,
			"airgap push DIR " + w.SiteRegistry + ", from a host that reaches it"}
	}
	return pass("%s has all images", w.SiteRegistry)
}
