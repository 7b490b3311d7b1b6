// Package plan decides on the connected side what a bundle holds: airgap.yaml, the servers'
// facts and airgap.lock go in, a bundle.Plan with its new lock comes out.
//
// What cannot work on these servers is refused before anything is asked of upstream, all of it
// in one error.
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
)

// Of the servers: x86_64 first, and the only one so far.
const (
	Platform = "linux/amd64"
	Arch     = "amd64"
)

// Options are what a plan is made of.
type Options struct {
	File    string            // path of airgap.yaml; airgap.lock and the files that it names are in its directory
	Cluster *config.Cluster   // File, parsed
	Text    []byte            // File, for the bundle
	Facts   string            // directory of the servers' surveys; "": a minimal installation is assumed
	Update  []string          // names that are decided again, though airgap.lock has them
	Tool    string            // "airgap 1.2.3", for the bundle
	Own     []bundle.OwnImage // images that airgap builds itself
	Base    *bundle.Inventory // what the servers have, for a delta; nil: a whole bundle
}

// Make returns the plan, and says warnings to p. Where airgap.yaml and the facts do not go
// together its error is a usage error (advice.IsUsage).
func Make(ctx context.Context, o Options, p ui.Progress) (*bundle.Plan, error) {
	c, dir := o.Cluster, filepath.Dir(o.File)
	surveyed, err := readSurveys(ctx, o.Facts)
	if err != nil {
		return nil, err
	}
	cards, err := checkCompatibility(c, surveyed, time.Now(), p)
	if err != nil {
		return nil, err
	}
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	r, err := request(o, surveyed, cards)
	if err != nil {
		return nil, err
	}
	if assumed := r.Packages.Assumed; len(assumed) > 0 {
		p.Say("warning: there are no facts of %s, by host name or address; what it has is assumed to be a minimal installation", strings.Join(assumed, ", "))
	}
	if err := checkNetworkSource(ctx, client, c, dir); err != nil {
		return nil, err
	}
	made, err := bundle.NewPlan(ctx, client, *r, p)
	if err != nil {
		return nil, trustChanged(runtimeInTheWay(c, err))
	}
	if err := tellClashes(broughtTwice(c, made.Sets), "airgap installs the pod network and, on nodes with the role gpu, driver, toolkit and device plugin; airgap schema shows the sections network and gpu", p); err != nil {
		return nil, err
	}
	return made, checkNetwork(c, surveyed, made)
}

// newClient asks upstream, with the logins of the repositories that have one.
func newClient(c *config.Cluster) (*fetch.Client, error) {
	client, err := fetch.NewClient(c.Sources)
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
	return client, nil
}

// locked is what airgap.lock decides; nil without one.
func locked(o Options) (*bundle.Locked, error) {
	path := LockPath(o.File)
	lock, err := readLock(path)
	if err != nil {
		return nil, err
	}
	if lock == nil {
		if len(o.Update) > 0 {
			return nil, advice.Usage(fmt.Errorf("airgap bundle: --update, but there is no %s yet: everything is decided anyway", path))
		}
		return nil, nil
	}
	return &bundle.Locked{Lock: *lock, Update: o.Update}, nil
}
