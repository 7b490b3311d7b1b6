package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/registry/ledger"
	"airgap.dev/airgap/registry/trust"
)

// Difference describes a fault of one registry, or content that is not the same on all registries.
type Difference struct {
	Object, Saw, Want, Fix string
}

// warnBefore is the time before expiry at which Compare reports a certificate that the timer has not renewed.
const warnBefore = trust.RenewBefore - 7*24*time.Hour

// hiddenFix does not contain the repository's name: the name comes from the registry, and the operator copies this line.
const hiddenFix = "push the images under another name, such as team/app; then on that host, below /var/lib/airgap/pushed" + repositoriesPath +
	": runuser -u airgap -- rm -r REPOSITORY, and systemctl restart " + UnitName

// Compare queries the registries of a cluster for their health, their bundles and their pushed images.
// Content that is not on all registries is lost if its hosts are lost. A registry that does not
// answer, or reports damage, is a difference, too.
func Compare(ctx context.Context, registries []*Client) []Difference {
	pushed := make([]ledger.Records, len(registries))
	healths := make([]Health, len(registries))
	errs := make([]error, len(registries))
	var queries sync.WaitGroup
	for i, r := range registries {
		queries.Go(func() {
			if healths[i], errs[i] = r.Health(ctx); errs[i] == nil {
				pushed[i], _, errs[i] = r.Pushed(ctx, "")
			}
		})
	}
	queries.Wait()
	var found []Difference
	for i, h := range healths {
		if h.Problem != "" {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: h.Problem, Want: "the registry accepts pushes",
				Fix: "on that host: journalctl -u " + UnitName,
			})
		}
		for _, repository := range h.Hidden {
			found = append(found, Difference{
				Object: "Repository " + repository,
				Saw:    registries[i].Addr() + " does not serve the images that were pushed to it: the name is reserved for bundles",
				Want:   "pushed images have names that no bundle uses", Fix: hiddenFix,
			})
		}
		if h.Ends != nil && time.Until(*h.Ends) < warnBefore {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: "its certificate expires on " + h.Ends.Format(time.DateOnly), Want: "it is renewed 30 days before it expires",
				Fix: "on that host: airgap registry renew; journalctl -u " + renewService,
			})
		}
		for _, problem := range h.NotServed {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: problem, Want: "the registry serves all bundles of its store",
				Fix: "on that host: mount the stick again, or airgap registry import DIR; journalctl -u " + UnitName,
			})
		}
		for _, d := range h.Damage {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: d.String(), Want: "the signed bytes",
				Fix: "on that host: " + d.Fix(),
			})
		}
	}
	found = append(found, differingBundles(registries, healths, errs)...)
	newest := ledger.Records{}
	for i, records := range pushed {
		if errs[i] != nil {
			found = append(found, Difference{
				Object: "Registry " + registries[i].Addr(), Saw: errs[i].Error(), Want: "the registry answers",
				Fix: "on that host: systemctl status " + UnitName + "; journalctl -u " + UnitName,
			})
			continue
		}
		for at, record := range records.All() {
			newest.Set(at, record)
		}
	}
	for at, record := range newest.All() {
		if d, ok := differingImage(registries, pushed, errs, at, record); ok {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b Difference) int { return cmp.Compare(a.Object, b.Object) })
	return found
}

// differingBundles returns the bundles that some, but not all, of the answering registries serve.
func differingBundles(registries []*Client, healths []Health, errs []error) []Difference {
	served := map[string]ServedBundle{} // by ID
	for i, h := range healths {
		if errs[i] != nil {
			continue
		}
		for _, b := range h.Bundles {
			served[b.ID] = b
		}
	}
	var found []Difference
	for id, b := range served {
		var have, missing []string
		for i, r := range registries {
			switch {
			case errs[i] != nil:
			case slices.ContainsFunc(healths[i].Bundles, func(o ServedBundle) bool { return o.ID == id }):
				have = append(have, r.Addr())
			default:
				missing = append(missing, r.Addr())
			}
		}
		if len(missing) > 0 {
			found = append(found, Difference{
				Object: "Bundle " + b.Name,
				Saw:    fmt.Sprintf("available on %s, missing on %s", strings.Join(have, ", "), strings.Join(missing, ", ")),
				Want:   "the same on all registries",
				Fix:    fmt.Sprintf("on %s: airgap registry import --from %s %s; if the bundle is not needed: airgap registry prune on %s", strings.Join(missing, ", "), have[0], id, strings.Join(have, ", ")),
			})
		}
	}
	return found
}

// differingImage reports the answering registries that do not have the record.
func differingImage(registries []*Client, pushed []ledger.Records, errs []error, at ledger.Reference, record ledger.Record) (Difference, bool) {
	var have, missing []string
	for i, r := range registries {
		its, known := pushed[i].Get(at)
		switch {
		case errs[i] != nil:
		case its.Same(record), !known && record.Deleted(): // old deletions are not recorded any longer
			have = append(have, r.Addr())
		default:
			missing = append(missing, r.Addr())
		}
	}
	state := "up to date"
	if record.Deleted() {
		state = "deleted"
	}
	return Difference{
		Object: "Image " + at.String(),
		Saw:    fmt.Sprintf("%s on %s, not on %s", state, strings.Join(have, ", "), strings.Join(missing, ", ")),
		Want:   "the same on all registries",
		Fix:    "airgap status on " + strings.Join(missing, ", ") + " shows the reason",
	}, len(missing) > 0
}
