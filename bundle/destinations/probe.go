package destinations

import (
	"context"
	"net/url"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/ui"
)

// probe is a request for the first byte of a file of the bundle.
type probe struct {
	purpose string
	ask     func(context.Context) error
}

const (
	// packageProbes is the number of packages to ask for at each mirror of a repository: a mirror may redirect
	// each request to another host.
	packageProbes = 3
	concurrent    = 12
)

// Probe asks for the first byte of the contents of a bundle, with the client of its plan, so that the
// recorder sees the hosts that the answers redirect to. Failed requests are no error: the recorder has them.
func Probe(ctx context.Context, p *bundle.Plan, c *fetch.Client, progress ui.Progress) error {
	all := append(fileProbes(p, c), blobProbes(p, c)...)
	task := progress.Task("ask the hosts", int64(len(all)), false)
	var group errgroup.Group
	group.SetLimit(concurrent)
	for _, one := range all {
		group.Go(func() error {
			if ctx.Err() == nil {
				_ = one.ask(httpclient.Checked(httpclient.For(ctx, one.purpose)))
				task.Add(1)
			}
			return nil
		})
	}
	_ = group.Wait()
	task.End(context.Cause(ctx))
	return context.Cause(ctx)
}

func fileProbes(p *bundle.Plan, c *fetch.Client) []probe {
	var all []probe
	add := func(purpose, url string) {
		all = append(all, probe{purpose, func(ctx context.Context) error { return c.Probe(ctx, url) }})
	}
	for _, f := range p.Lock.Files {
		add("file "+f.Name, f.URL)
	}
	count := map[string]int{}
	for _, one := range p.Lock.Packages {
		for _, at := range append([]string{one.URL}, p.Mirrors(one.Path)...) {
			mirror := one.Repository
			if u, err := url.Parse(at); err == nil {
				mirror += " " + u.Scheme + " " + u.Host
			}
			if count[mirror]++; count[mirror] <= packageProbes {
				add("packages of repository "+one.Repository, at)
			}
		}
	}
	return all
}

func blobProbes(p *bundle.Plan, c *fetch.Client) []probe {
	var all []probe
	seen := map[string]bool{}
	for _, image := range p.Lock.Images {
		named, err := reference.Parse(image.Name)
		if err != nil {
			continue
		}
		repo, err := c.Repository(named.Repository())
		if err != nil {
			continue // the plan has reported it
		}
		for _, blob := range image.Blobs {
			key := repo.Name() + "@" + blob.Digest
			if seen[key] || !p.IsFetched(bundle.BlobPath(blob.Digest)) {
				continue
			}
			seen[key] = true
			all = append(all, probe{"image " + image.Name, func(ctx context.Context) error { return c.ProbeBlob(ctx, repo, blob.Digest) }})
		}
	}
	return all
}
