// Package push copies the images of a bundle to an existing registry of the site.
package push

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/existing"
)

// Options name the bundle and the registry.
type Options struct {
	Dir      string   // directory of the bundle
	Keys     []string // of --require-key
	Registry string   // HOST/PROJECT or HOST:PORT/PROJECT; "": registry.existing in airgap.yaml
	CA       string   // file with its CA certificate; "": the CA in airgap.yaml, else the CAs that this host trusts
	User     string   // user to ask the password for; "": the login that podman or docker saved
	Console  ui.Console
}

// Result lists the images in the registry after the push.
type Result struct {
	Registry string
	Images   []existing.Pushed
}

// Run pushes the images of a bundle. With an error it also returns the images that were
// pushed before.
func Run(ctx context.Context, o Options) (Result, error) {
	b, _, err := site.Open(o.Dir, o.Keys)
	if err != nil {
		return Result{}, err
	}
	v := bundle.NewView(b)
	defer v.Close()
	to, err := existingFor(b.Index(), o)
	if err != nil {
		return Result{}, err
	}
	var login authn.Authenticator
	if o.User != "" {
		password, err := o.Console.Ask(ctx, "Password for "+o.User+" at "+to.Address+": ", true)
		if err != nil && !errors.Is(err, io.EOF) {
			return Result{}, err
		}
		login = &authn.Basic{Username: o.User, Password: strings.TrimRight(password, "\r\n")}
	}
	pushed, err := to.Push(ctx, v, login, o.Console.Progress())
	return Result{to.Address, pushed}, explain(err)
}

// explain adds a hint to a login error of the registry.
func explain(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return advice.Add(err, "pass --user NAME, or run podman login first; the user needs permission to push to the project, and some registries require that you create the project first")
	}
	if untrusted, is := errors.AsType[*tls.CertificateVerificationError](err); is && len(untrusted.UnverifiedCertificates) > 0 {
		return advice.Add(err, "pass the CA that issued the certificate with --ca FILE, or set registry.existing.ca; the issuer is %q", untrusted.UnverifiedCertificates[0].Issuer.String())
	}
	return err
}

// existingFor returns the registry in the options, else the one in airgap.yaml.
func existingFor(index *bundle.Index, o Options) (existing.Registry, error) {
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return existing.Registry{}, err
	}
	var to existing.Registry
	if c.Registry.Existing != nil {
		to = *c.Registry.Existing
	}
	if o.Registry != "" && o.Registry != to.Address {
		to = existing.Registry{Address: o.Registry}
	}
	if to.Address == "" {
		return to, advice.Usagef("airgap push: no registry.existing in airgap.yaml; pass HOST/PROJECT")
	}
	if o.CA != "" {
		text, err := host.ReadInput(o.CA, host.MaxInput)
		if err != nil {
			return to, fmt.Errorf("read the CA certificate of %s: %w", to.Address, err)
		}
		to.CA = string(text)
	}
	return to, to.Check()
}

// Write prints the number of images, the tags that moved, and the images that have one
// platform only.
func (r Result) Write(w io.Writer) error {
	held := len(slices.DeleteFunc(slices.Clone(r.Images), func(p existing.Pushed) bool { return !p.Unchanged() }))
	if _, err := fmt.Fprintf(w, "%s has %s: %d new, %d unchanged\n", r.Registry, ui.Count(len(r.Images), "image"), len(r.Images)-held, held); err != nil {
		return err
	}
	for _, p := range r.Images {
		if p.Moved() {
			fmt.Fprintf(w, "moved: %s was %s, is %s\n", p.Target, p.Was, p.Digest)
		}
	}
	for _, p := range r.Images {
		if p.Platform {
			fmt.Fprintf(w, "one platform: %s is %s, because the registry accepts an index only with all its platforms\n", p.Target, p.Digest)
		}
	}
	return nil
}
