package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/reference"
)

// Locked makes a plan follow an earlier lock.
type Locked struct {
	Lock Lock
	// Update are the items to resolve again: an image as in the lock, the name of a
	// package, of a repository, of a file or of an add-on, the URL of manifests, or
	// UpdateAll.
	Update []string
	// Created is the time of the bundle with these contents; zero if airgap.lock has none.
	Created time.Time
	// Inputs is Plan.Inputs of that bundle.
	Inputs string
}

// UpdateAll in Locked.Update resolves everything again except the keys and timestamps
// of repositories.
const UpdateAll = "all"

// Moved is an image, or the chart of an add-on, with a tag that points to another
// digest since it was locked.
type Moved struct {
	Name   string `json:"name"`          // name of the image or of the add-on
	Locked string `json:"locked"`        // digest
	Now    string `json:"now,omitempty"` // digest, "" if the tag no longer exists
}

// check refuses names in Update that the lock does not have.
func (l *Locked) check() error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, name := range l.Update {
		if name != UpdateAll && !l.has(name) {
			errs = append(errs, fmt.Errorf("update %s: no image, package, repository, file or add-on in the lock has this name", name))
		}
	}
	return errors.Join(errs...)
}

func (l *Locked) has(name string) bool {
	return slices.ContainsFunc(l.Lock.Images, func(i Image) bool { return i.Name == name }) ||
		slices.ContainsFunc(l.Lock.Files, func(f File) bool { return f.Name == name }) ||
		slices.ContainsFunc(l.Lock.Repositories, func(r Repository) bool { return r.Name == name }) ||
		slices.ContainsFunc(l.Lock.Packages, func(p Package) bool { return p.NEVRA.Name == name }) ||
		slices.ContainsFunc(l.Lock.Applied(), func(a Addon) bool { return a.Name == name }) ||
		slices.ContainsFunc(l.Lock.Manifests, func(s Source) bool { return s.URL == name })
}

// free reports whether a name is resolved again.
func (l *Locked) free(name string) bool {
	return l == nil || slices.Contains(l.Update, name) || slices.Contains(l.Update, UpdateAll)
}

// image returns the locked digest of an image, or "".
func (l *Locked) image(name string) string {
	if l.free(name) {
		return ""
	}
	for _, i := range l.Lock.Images {
		if i.Name == name {
			return i.Digest
		}
	}
	return ""
}

// file returns the locked file, unless its URL has changed.
func (l *Locked) file(need FileNeed) (File, bool) {
	if l.free(need.Name) {
		return File{}, false
	}
	at := slices.IndexFunc(l.Lock.Files, func(f File) bool { return f.Name == need.Name && f.URL == need.URL })
	if at < 0 || need.SHA256 != "" && need.SHA256 != l.Lock.Files[at].SHA256 {
		return File{}, false
	}
	return l.Lock.Files[at], true
}

// chart returns the locked chart of an add-on. It returns nil if none is locked, if the
// version or repository has changed, or for a file on this host, which is not locked.
func (l *Locked) chart(need AddonNeed) *Chart {
	want := *need.Chart
	if l.free(need.Name) || want.Path != "" {
		return nil
	}
	for _, a := range l.Lock.Applied() {
		if a.Name == need.Name && a.Chart != nil && a.Chart.Repository == want.Repository && a.Chart.Name == want.Name && chart.SameVersion(a.Chart.Version, want.Version) {
			return a.Chart
		}
	}
	return nil
}

// indexed reports whether the index of the repository had digests for this chart.
func (l *Locked) indexed(need AddonNeed) bool {
	if l == nil || slices.Contains(l.Update, need.Name) {
		return false
	}
	return slices.ContainsFunc(l.Lock.Applied(), func(a Addon) bool {
		return a.Name == need.Name && a.Chart != nil && a.Chart.Repository == need.Chart.Repository && a.Chart.Name == need.Chart.Name && a.Chart.IndexDigest
	})
}

// source returns the locked SHA-256 of manifests at a URL, or "". addon is "" for
// images.manifests.
func (l *Locked) source(url, addon string) string {
	if l.free(url) || addon != "" && l.free(addon) {
		return ""
	}
	var sources []Source
	for _, a := range l.Lock.Applied() {
		if a.Name == addon {
			sources = a.Sources
		}
	}
	if addon == "" {
		sources = l.Lock.Manifests
	}
	for _, s := range sources {
		if s.URL == url {
			return s.SHA256
		}
	}
	return ""
}

// packages are the locked packages for the closure.
func (l *Locked) packages() []rpm.Locked {
	if l == nil {
		return nil
	}
	var all []rpm.Locked
	for _, p := range l.Lock.Packages {
		if !l.free(p.NEVRA.Name) {
			all = append(all, rpm.Locked{NEVRA: p.NEVRA.NEVRA, SHA256: p.SHA256})
		}
	}
	return all
}

// repositories are the locked keys and timestamps. "all" does not release them, because
// a routine update must not accept a change by another person.
func (l *Locked) repositories() []rpm.Seen {
	if l == nil {
		return nil
	}
	var all []rpm.Seen
	for _, r := range l.Lock.Repositories {
		if !slices.Contains(l.Update, r.Name) {
			all = append(all, rpm.Seen{Name: r.Name, Location: r.Location, Keys: r.Keys, SignedMetadata: r.SignedMetadata, Timestamp: r.Timestamp})
		}
	}
	return all
}

// moved checks the current target of the tag of a locked image.
func (up upstream) moved(ctx context.Context, fullName string, repo name.Repository, named reference.Reference, digest string) (*Moved, error) {
	if named.Digest != "" || digest == "" {
		return nil, nil
	}
	now, err := up.Head(ctx, refIn(repo, named))
	if err != nil || now == digest {
		return nil, err
	}
	return &Moved{Name: fullName, Locked: digest, Now: now}, nil
}
