package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
)

// hub is the registry host as a joining host sees it.
type hub struct {
	addr     string
	ca       []byte
	client   *http.Client
	trusted  []*ecdsa.PublicKey
	required []string          // fingerprints, by --require-key
	signed   map[string][]byte // the signed index and what vouches for it
	index    *bundle.Index
	material kubeadm.JoinMaterial
	removed  []string       // nodes of airgap.yaml that were removed since
	choice   *networkChoice // how pods' packets travel; nil where airgap.yaml says it
	ahead    time.Duration  // of its clock before this host's
}

func (h *hub) url(path string) string { return "https://" + h.addr + path }

// reachHub gets the authority by its hash, then the signed index.
func reachHub(ctx context.Context, addr, caHash string, keys []string) (*hub, error) {
	ca, err := registry.FetchCA(ctx, addr, caHash)
	if wrong, is := errors.AsType[*registry.ClockError](err); is {
		return nil, apart(addr, wrong)
	}
	if err != nil {
		return nil, advice.Add(err, "compare the line with what airgap install printed; is port %s open on the first host?", portOf(addr))
	}
	h := &hub{addr: addr, ca: ca}
	if h.client, err = registry.HTTPClient(ca); err != nil {
		return nil, err
	}
	if h.ahead, err = registry.Ahead(ctx, addr, ca); err != nil {
		return nil, err
	}
	data, err := h.get(ctx, "/join/"+materialName, maxJoinFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &h.material); err != nil {
		return nil, fmt.Errorf("read join material of %s: %w", addr, err)
	}
	if h.choice, err = h.readChoice(ctx); err != nil {
		return nil, err
	}
	if h.removed, err = h.readRemoved(ctx); err != nil {
		return nil, err
	}
	return h, h.readIndex(ctx, keys)
}

// readChoice is nil where the first host has none.
func (h *hub) readChoice(ctx context.Context) (*networkChoice, error) {
	data, err := h.get(ctx, "/join/"+choiceName, maxJoinFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseChoice(data)
}

// readIndex fetches the signed index and checks it as a stick's would be.
func (h *hub) readIndex(ctx context.Context, keys []string) error {
	dir, remove, err := scratch("join")
	if err != nil {
		return err
	}
	defer remove()
	for _, name := range indexFiles() {
		limit := int64(maxJoinFile)
		if name == bundle.IndexName {
			limit = bundle.MaxIndex
		}
		data, err := h.get(ctx, "/join/"+name, limit)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	t, err := trustedKeys(keys, dir)
	if err != nil {
		return err
	}
	h.trusted, h.required = t.keys, t.required
	signed, err := bundle.ReadSigned(dir, t.keys...)
	if errors.Is(err, bundle.ErrDamaged) {
		return advice.Add(err, "on the first host, airgap install puts the signed index right; then join again")
	}
	if err != nil {
		return t.explain(err)
	}
	h.index, h.signed = signed.Index, signed.Files
	return nil
}

// view is the bundle as it lies in the registry host's store, and what it leaves
// to others, to be copied.
func (h *hub) view(ctx context.Context) (*bundle.View, error) {
	client, err := registry.NewClient(h.addr, h.ca)
	if err != nil {
		return nil, err
	}
	v, err := client.View(ctx, h.index.ID(), h.trusted...) // a newer one of its name may be there for an upgrade
	return v, (&trust{required: h.required, keys: h.trusted}).explain(err)
}

// maxJoinFile is the largest file below /join/ beside those of the signed index.
const maxJoinFile = 1 << 20

func (h *hub) get(ctx context.Context, path string, limit int64) ([]byte, error) {
	body, err := h.stream(ctx, path)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := httpclient.ReadAll(body, limit)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", h.url(path), err)
	}
	return data, nil
}

func (h *hub) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url(path), nil)
	if err != nil {
		return nil, err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", h.url(path), err)
	}
	if resp.StatusCode == http.StatusNotFound {
		resp.Body.Close()
		return nil, fmt.Errorf("get %s: %w", h.url(path), fs.ErrNotExist)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("get %s: %s", h.url(path), resp.Status)
	}
	return resp.Body, nil
}

// open streams a file of the bundle by its path and vouches for it.
func (h *hub) open(ctx context.Context, path string) (io.ReadCloser, error) {
	f, ok := h.index.Find(path)
	if !ok {
		return nil, fmt.Errorf("open %s: the bundle has no such file", path)
	}
	body, err := h.stream(ctx, "/"+path)
	if err != nil {
		return nil, err
	}
	return bundle.Vouch(body, f), nil
}

func portOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return port
}
