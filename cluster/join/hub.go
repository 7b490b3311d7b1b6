package join

import (
	"bytes"
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
	"slices"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// Server is the registry host as a joining host sees it.
type Server struct {
	Addr     string
	CA       []byte
	client   *http.Client
	Trusted  []*ecdsa.PublicKey
	Required []string          // fingerprints, by --require-key
	Signed   map[string][]byte // the signed index and its signature
	Index    *bundle.Index
	Material jointoken.JoinMaterial
	Removed  []string            // nodes of airgap.yaml that were removed since
	Choice   *site.NetworkChoice // of the network measurement; nil if it selected nothing
	Ahead    time.Duration       // of its clock before this host's
}

func (h *Server) url(path string) string { return "https://" + h.Addr + path }

// DialServer fetches the registry CA, checks its hash, and reads the signed index.
func DialServer(ctx context.Context, addr, caHash string, keys []string) (*Server, error) {
	ca, err := trust.FetchCA(ctx, addr, caHash)
	if wrong, is := errors.AsType[*trust.ClockError](err); is {
		return nil, hostcheck.Apart(addr, wrong)
	}
	if err != nil {
		return nil, advice.Add(err, "compare the line with what airgap install printed; is port %s open on the first host?", portOf(addr))
	}
	h := &Server{Addr: addr, CA: ca}
	if h.client, err = registry.HTTPClient(ca); err != nil {
		return nil, err
	}
	if h.Ahead, err = trust.Ahead(ctx, addr, ca); err != nil {
		return nil, err
	}
	data, err := h.get(ctx, "/join/"+materialName, maxJoinFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &h.Material); err != nil {
		return nil, fmt.Errorf("read join material of %s: %w", addr, err)
	}
	if h.Choice, err = h.readChoice(ctx); err != nil {
		return nil, err
	}
	if h.Removed, err = h.readRemoved(ctx); err != nil {
		return nil, err
	}
	return h, h.readIndex(ctx, keys)
}

// readChoice is nil where the first host has none.
func (h *Server) readChoice(ctx context.Context) (*site.NetworkChoice, error) {
	data, err := h.get(ctx, "/join/"+site.ChoiceName, maxJoinFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return site.ParseChoice(data)
}

// readIndex fetches the signed index and checks it as a stick's would be.
func (h *Server) readIndex(ctx context.Context, keys []string) error {
	dir, remove, err := site.Scratch("join")
	if err != nil {
		return err
	}
	defer remove()
	for _, name := range slices.Concat(bundle.IndexFiles(), bundle.OptionalIndexFiles()) {
		limit := int64(maxJoinFile)
		if name == bundle.IndexName {
			limit = bundle.MaxIndex
		}
		data, err := h.get(ctx, "/join/"+name, limit)
		if errors.Is(err, fs.ErrNotExist) && slices.Contains(bundle.OptionalIndexFiles(), name) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	t, err := site.TrustedKeys(keys, dir)
	if err != nil {
		return err
	}
	h.Trusted, h.Required = t.Keys, t.Required
	signed, err := bundle.ReadSigned(dir, t.Keys...)
	if errors.Is(err, bundle.ErrDamaged) {
		return advice.Add(err, "on the first host, airgap install puts the signed index right; then join again")
	}
	if err != nil {
		return t.Explain(err)
	}
	h.Index, h.Signed = signed.Index, signed.Files
	err = t.Approve(signed.Index, signed.Files)
	h.Required = t.Required
	return err
}

// View is the bundle in the registry host's store, with the parts that are in
// other bundles, for copying.
func (h *Server) View(ctx context.Context) (*bundle.View, error) {
	client, err := registry.NewClient(h.Addr, h.CA)
	if err != nil {
		return nil, err
	}
	v, err := client.View(ctx, h.Index.ID(), h.Trusted...) // a newer one of its name may be there for an upgrade
	if err == nil {
		if err = errors.Join(h.approved(v.Top()), sidefiles.CheckServed(v)); err != nil {
			v.Close()
			return nil, err
		}
	}
	return v, (&site.Trust{Required: h.Required, Keys: h.Trusted}).Explain(err)
}

// approved returns an error unless enough persons signed the bundle in the registry host's store. Its SHA256SUMS are
// usually those that readIndex has approved: the store can lack a signature. The bases of a delta count as approved: the
// cluster has accepted them, and the delta has the hash of each file that it takes from them.
func (h *Server) approved(b *bundle.Bundle) error {
	sums, err := b.Attested(bundle.SumsName)
	if err != nil || bytes.Equal(sums, h.Signed[bundle.SumsName]) {
		return err
	}
	return (&site.Trust{Required: h.Required, Keys: h.Trusted}).Accept(b)
}

// maxJoinFile is the size limit of files below /join/ other than the signed index.
const maxJoinFile = 1 << 20

func (h *Server) get(ctx context.Context, path string, limit int64) ([]byte, error) {
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

func (h *Server) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	if h.client == nil {
		return nil, fmt.Errorf("get %s: the registry is not asked", path)
	}
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

// Open streams a file of the bundle by its path and vouches for it.
func (h *Server) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	f, ok := h.Index.Find(path)
	if !ok {
		return nil, fmt.Errorf("open %s: the bundle has no such file", path)
	}
	body, err := h.stream(ctx, "/"+path)
	if err != nil {
		return nil, err
	}
	return bundle.Attest(body, f), nil
}

func portOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return port
}
