// Package push brings a bundle's images into a registry that the site has already.
package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// Options say what is pushed and where to.
type Options struct {
	Dir      string   // the bundle's
	Keys     []string // of --require-key
	Registry string   // HOST or HOST:PORT with the project behind it; "": airgap.yaml's registry.existing
	CA       string   // file with the certificate of its authority; "": airgap.yaml's, else what this host trusts
	User     string   // whose password is asked for; "": the login that podman or docker keeps
	Console  ui.Console
}

// Result is what the registry has now.
type Result struct {
	Registry string
	Images   []registry.Pushed
}

// Run pushes the images of a bundle. With an error it returns what came there before.
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

// explain says what to do about an answer of the registry.
func explain(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return advice.Add(err, "give --user NAME, or podman login before; the user needs the right to push to the project, and in some registries the project has to be made first")
	}
	return err
}

// existingFor is the registry that is named, or airgap.yaml's.
func existingFor(index *bundle.Index, o Options) (registry.Existing, error) {
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return registry.Existing{}, err
	}
	var to registry.Existing
	if c.Registry.Existing != nil {
		to = *c.Registry.Existing
	}
	if o.Registry != "" && o.Registry != to.Address {
		to = registry.Existing{Address: o.Registry}
	}
	if to.Address == "" {
		return to, advice.Usagef("airgap push: airgap.yaml names no registry.existing; give HOST/PROJECT")
	}
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			return to, fmt.Errorf("read the authority of %s: %w", to.Address, err)
		}
		to.CA = string(text)
	}
	return to, to.Check()
}

// Write counts the images, and lists tags that moved and images of one platform.
func (r Result) Write(w io.Writer) error {
	held := len(slices.DeleteFunc(slices.Clone(r.Images), func(p registry.Pushed) bool { return !p.Unchanged() }))
	if _, err := fmt.Fprintf(w, "%s has %s: %d new, %d there already\n", r.Registry, ui.Count(len(r.Images), "image"), len(r.Images)-held, held); err != nil {
		return err
	}
	for _, p := range r.Images {
		if p.Moved() {
			fmt.Fprintf(w, "moved: %s was %s, is %s\n", p.Target, p.Was, p.Digest)
		}
	}
	for _, p := range r.Images {
		if p.Platform {
			fmt.Fprintf(w, "one platform: %s is %s, since the registry takes the index only with all platforms\n", p.Target, p.Digest)
		}
	}
	return nil
}
