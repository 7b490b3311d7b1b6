package build

import (
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// tellPlanned says what somebody has to know of a plan before it is carried out.
func tellPlanned(p ui.Progress, planned *bundle.Plan) {
	tellMoved(p, planned.Moved)
	tellRetagged(p, planned.Retagged)
	tellSecrets(p, planned.Secrets)
	tellOperators(p, planned.Operators)
	for _, n := range planned.Notices {
		p.Say("not checked: %s", n)
	}
	for _, what := range planned.Remarks {
		p.Say("note: %s", what)
	}
	for _, n := range planned.Warnings {
		p.Say("warning: %s", n)
	}
}

// tellSecrets names the objects of add-ons whose secrets are on the stick.
func tellSecrets(p ui.Progress, secrets []string) {
	for _, s := range secrets {
		p.Say("secret: %s can be read by whoever holds the stick; if that is not wanted, name a Secret that is made in the cluster (existingSecret or the like in the chart's values)", s)
	}
}

// tellMoved names the images whose tags lead elsewhere than when they were
// locked.
func tellMoved(p ui.Progress, moved []bundle.Moved) {
	for _, m := range moved {
		now := "is gone"
		if m.Now != "" {
			now = "leads to " + m.Now + " now"
		}
		p.Say("moved: the tag of %s %s; the bundle keeps to the locked %s; --update %s follows it", m.Name, now, m.Locked, m.Name)
	}
}

// tellRetagged names the images that a delta changes under their tags.
func tellRetagged(p ui.Progress, retagged []bundle.Retagged) {
	for _, r := range retagged {
		p.Say("moved: %s is %s on the servers and %s in this delta, which brings what it lacks; by its digest the old one stays", r.Name, r.Was, r.Is)
	}
}
