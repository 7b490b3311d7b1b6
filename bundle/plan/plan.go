// Package plan plans the contents of a bundle on the connected side. From airgap.yaml, the
// servers' facts and airgap.lock it returns a bundle.Plan with a new lock.
//
// It refuses combinations that cannot work on these servers, in one error and before any
// request to upstream.
package plan

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

// The platform of the servers. x86_64 is the only supported architecture.
const (
	Platform = "linux/amd64"
	Arch     = "amd64"
)

// Options has the input of a plan.
type Options struct {
	File    string                    // path of airgap.yaml; airgap.lock is in the same directory, and paths in airgap.yaml are relative to it
	Cluster *config.Cluster           // File, parsed
	Text    []byte                    // File, for the bundle
	Facts   string                    // directory of the servers' surveys; "" to assume a minimal installation
	Update  []string                  // names to select again, although airgap.lock has them
	Tool    string                    // "airgap 1.2.3", for the bundle
	Own     []bundle.OwnImage         // images that airgap builds
	Prepare func(*fetch.Client) error // called before the first request; nil: nothing
	Base    *bundle.Inventory         // contents of the servers, for a delta; nil for a complete bundle
	Earlier *bundle.Earlier           // earlier bundles to use in place of upstream; nil: none
	Cache   string                    // directory that keeps the metadata of package repositories between plans; "": none
	Now     func() time.Time          // the clock; nil: time.Now
	// Surveyed is called with the facts of each surveyed node before any request to upstream; nil: not.
	Surveyed func(byNode map[string]*facts.Facts) error
}

// Make returns the plan, and prints warnings to p. If airgap.yaml and the facts are not
// compatible, the error is a usage error (advice.IsUsage).
func Make(ctx context.Context, o Options, p ui.Progress) (*bundle.Plan, error) {
	c, dir := o.Cluster, filepath.Dir(o.File)
	surveys, err := readSurveys(ctx, o.Facts)
	if err != nil {
		return nil, err
	}
	if err := checkHosts(c, o.Facts, surveys, p); err != nil {
		return nil, err
	}
	surveyed := factsOf(surveys)
	warnOfSurveys(surveys, p)
	if c, err = withVariables(c, surveyed); err != nil {
		return nil, err
	}
	o.Cluster = c
	if o.Surveyed != nil {
		if err := o.Surveyed(byNode(c, surveyed)); err != nil {
			return nil, err
		}
	}
	gpus, err := checkCompatibility(c, surveyed, time.Now(), p)
	if err != nil {
		return nil, err
	}
	client, err := newClient(c, o.Prepare)
	if err != nil {
		return nil, err
	}
	r, err := request(o, surveyed, gpus)
	if err != nil {
		return nil, err
	}
	r.Created = o.now()
	if assumed := r.Packages.Assumed; len(assumed) > 0 {
		p.Say("warning: --facts has no facts for %s, by host name or address; airgap assumes a minimal installation", strings.Join(assumed, ", "))
	}
	source := checkNetworkSource(ctx, client, c, dir)
	if source != nil && fetch.UnreachableIn(source) == nil {
		return nil, source
	}
	result, err := bundle.NewPlan(ctx, client, *r, p)
	if err == nil {
		err = source // otherwise the plan reports this server, with all others
	}
	if err != nil {
		return nil, trustChanged(runtimeConflict(c, err))
	}
	result.Lock.Storage = storageNeeds(result.Sets)
	result.Lock.BGPPeers = bgpPeers(result.Sets)
	missing, err := missingClients(c, surveyed, result.Lock)
	if err != nil {
		return nil, err
	}
	if err := report(append(missing, duplicates(c, result.Sets)...), duplicatesHint, p); err != nil {
		return nil, err
	}
	if err := checkNetwork(c, surveyed, result); err != nil {
		return nil, err
	}
	return result, date(result, o, r.Locked)
}

// warnOfSurveys prints what is odd about the surveys: the plan can be made in spite of it.
func warnOfSurveys(surveys []survey, p ui.Progress) {
	for _, shared := range sharedIdentities(surveys) {
		p.Say("warning: --facts: %s: make it unique on each server, or remove the survey that is there twice", shared)
	}
	for _, f := range factsOf(surveys) {
		if len(f.OddPackages) > 0 {
			p.Say("warning: --facts: %s: rpm shows odd data for %s; airgap plans as if they were not installed", f.Host, strings.Join(f.OddPackages, ", "))
		}
	}
}

const duplicatesHint = "airgap installs the pod network and, on nodes with the role gpu, the driver, the toolkit and the device plugin; " +
	"run airgap schema to see the sections network and gpu"

// newClient returns a client for upstream, with the logins of the repositories.
func newClient(c *config.Cluster, prepare func(*fetch.Client) error) (*fetch.Client, error) {
	client, err := fetch.NewClient(c.Sources)
	if err == nil && prepare != nil {
		err = prepare(client)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range c.Packages.Repositories {
		if r.Login == (rpm.Login{}) {
			continue
		}
		if err := client.Use(fetch.Login{Below: r.BaseURL, Login: r.Login}); err != nil {
			return nil, err
		}
	}
	for _, a := range c.Addons {
		if a.Chart == nil || a.Chart.Login == (rpm.Login{}) {
			continue
		}
		if err := client.Use(fetch.Login{Below: a.Chart.Repository, Login: a.Chart.Login}); err != nil {
			return nil, err
		}
	}
	return client, nil
}

// locked returns the decisions in airgap.lock; nil if it does not exist.
func locked(o Options) (*bundle.Locked, error) {
	path := LockPath(o.File)
	saved, err := readLock(path)
	if err != nil {
		return nil, err
	}
	if saved == nil {
		if len(o.Update) > 0 {
			return nil, advice.Usage(fmt.Errorf("airgap bundle: --update requires %s, which does not exist yet; run the command without --update, which selects everything", path))
		}
		return nil, nil
	}
	return &bundle.Locked{Lock: saved.Lock, Update: o.Update, Created: saved.Created, Inputs: saved.Inputs}, nil
}
