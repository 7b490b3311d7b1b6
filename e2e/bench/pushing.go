package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/crypto/bcrypt"
)

const (
	fewTags, manyTags = 20, 20_000
	// changesOfARound is how many tags a round pushes and deletes.
	changesOfARound = 20
)

// login returns the user who may push.
func login() *authn.Basic { return &authn.Basic{Username: "bench", Password: "bench"} }

// pushing measures the push and the deletion of a tag in a repository with many tags, next to the same
// in a repository with few tags.
func (b *bench) pushing(ctx context.Context, w *figures) error {
	pki := filepath.Join(b.Work, "pki")
	rt, err := selfSigned(ctx, pki)
	if err != nil {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(login().Password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	users := filepath.Join(b.Work, "users")
	if err := os.WriteFile(users, fmt.Appendf(nil, "%s:%s\n", login().Username, hash), 0o600); err != nil {
		return err
	}
	var rounded [2]func() (measured, error)
	for i, tags := range []int{manyTags, fewTags} {
		dir := filepath.Join(b.Work, fmt.Sprint("pushed-", tags))
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		serve := func() (*server, error) { return b.serve(ctx, rt, b.ours(), pki, "--pushed", dir, "--users", users) }
		manifest, err := firstPush(ctx, rt, serve, dir, tags)
		if err != nil {
			return fmt.Errorf("push to a registry with %d tags: %w", tags, err)
		}
		s, err := serve()
		if err != nil {
			return err
		}
		defer s.end()
		rounded[i] = s.changes(ctx, rt, manifest)
	}
	m, err := rounds(rounded[:]...)
	if err != nil {
		return err
	}
	seconds(fmt.Sprintf("push-and-delete-with-%d-tags", manyTags), m[0].took, fmt.Sprintf("%d-tags", fewTags), m[1].took, 1.5).print(w)
	return nil
}

// firstPush pushes an image, stops the registry, and adds tags of the image to its files.
func firstPush(ctx context.Context, rt http.RoundTripper, serve func() (*server, error), dir string, tags int) (manifest []byte, err error) {
	s, err := serve()
	if err != nil {
		return nil, err
	}
	defer s.end()
	image, err := random.Image(1000, 1)
	if err != nil {
		return nil, err
	}
	tag, err := name.NewTag(s.addr + "/team/app:first")
	if err != nil {
		return nil, err
	}
	if err := remote.Write(tag, image, remote.WithContext(ctx), remote.WithTransport(rt), remote.WithAuth(login())); err != nil {
		return nil, err
	}
	d, err := image.Digest()
	if err != nil {
		return nil, err
	}
	links := filepath.Join(dir, "docker/registry/v2/repositories/team/app/_manifests/tags")
	for i := range tags {
		link := filepath.Join(links, fmt.Sprint("build-", i), "current/link")
		err := os.MkdirAll(filepath.Dir(link), 0o755)
		if err = errors.Join(err, os.WriteFile(link, []byte(d.String()), 0o600)); err != nil {
			return nil, err
		}
	}
	return image.RawManifest()
}

// changes returns a function that pushes a manifest under new tags, and deletes each tag.
func (s *server) changes(ctx context.Context, rt http.RoundTripper, manifest []byte) func() (measured, error) {
	return func() (measured, error) {
		began := time.Now()
		for i := range changesOfARound {
			path := fmt.Sprint("/v2/team/app/manifests/new-", i)
			if err := s.send(ctx, rt, http.MethodPut, path, manifest, http.StatusCreated); err != nil {
				return measured{}, err
			}
			if err := s.send(ctx, rt, http.MethodDelete, path, nil, http.StatusAccepted); err != nil {
				return measured{}, err
			}
		}
		return measured{took: time.Since(began)}, nil
	}
}

// send sends a request as the user who may push, and expects this status.
func (s *server) send(ctx context.Context, rt http.RoundTripper, method, path string, body []byte, status int) error {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+s.addr+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(login().Username, login().Password)
	req.Header.Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != status {
		err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}
