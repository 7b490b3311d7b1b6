package build

import (
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// reportPlan prints the warnings of a plan before the bundle is written.
func reportPlan(p ui.Progress, planned *bundle.Plan) {
	reportMoved(p, planned.Moved)
	reportRetagged(p, planned.Retagged)
	reportSecrets(p, planned.Secrets)
	reportOperators(p, planned.Operators)
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

// reportSecrets lists the objects of add-ons that have secrets on the USB drive.
func reportSecrets(p ui.Progress, secrets []string) {
	for _, s := range secrets {
		p.Say("secret: anyone with access to the USB drive can read %s; to avoid this, create the Secret in the cluster and refer to it (in a chart: with a value such as existingSecret)", s)
	}
}

// reportMoved lists the images with tags that changed in the registry since they were
// locked.
func reportMoved(p ui.Progress, moved []bundle.Moved) {
	for _, m := range moved {
		now := "no longer exists"
		if m.Now != "" {
			now = "now points to " + m.Now
		}
		p.Say("moved: the tag of %s %s; the bundle uses the locked %s; to use the new one, pass --update %s", m.Name, now, m.Locked, m.Name)
	}
}

// reportRetagged lists the images with tags that a delta changes.
func reportRetagged(p ui.Progress, retagged []bundle.Retagged) {
	for _, r := range retagged {
		p.Say("moved: %s is %s on the servers and %s in this delta; the delta contains the missing blobs, and the old image stays available by its digest", r.Name, r.Was, r.Is)
	}
}
