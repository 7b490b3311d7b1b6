package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/registry/damage"
	"airgap.dev/airgap/registry/ledger"
)

// Options configure a registry.
type Options struct {
	Bundles []*bundle.Bundle
	Pushed  string                   // directory of pushed images; "": the registry accepts no pushes
	Users   string                   // htpasswd file (bcrypt) of users who may push; without it, no user may push
	Brought func() ([]string, error) // returns the names of the images of earlier bundles; nil: none
	Peers   []*Client                // the other registries; this one copies their pushes
	Names   []string                 // HOST:PORT names of this registry, in addition to the Host of each request
	Expiry  func() time.Time         // returns when the server certificate expires, for the metric; nil: no metric
	Every   time.Duration            // interval of polling the peers; 0 is 5 s
	Join    http.Handler             // answers below /join/; nil: no host may join here
	Log     *slog.Logger             // one line for each request and for each failed read
	Version string                   // of airgap

	NotServed []string              // why bundles of the store are not served, for Health
	free      func() (int64, error) // bytes on the disk of the pushes; nil: the disk is asked
}

// Damage is content that the registry cannot serve.
type Damage = damage.Fault

// Health is the answer of /healthz.
type Health struct {
	Bundles []ServedBundle `json:"bundles"`           // the bundles that the registry serves
	Problem string         `json:"problem,omitempty"` // why the registry accepts no pushes

	NotServed []string `json:"notServed,omitempty"` // why bundles of the store are not served, such as a stick that is not mounted

	Hidden  []string   `json:"hidden,omitempty"`  // repositories with pushed images that are not served: the names are reserved
	Damage  []Damage   `json:"damage,omitempty"`  // damage of bundles and pushed images that a read has found
	Lags    []Lag      `json:"lags,omitempty"`    // how far this registry is behind the others
	Ends    *time.Time `json:"ends,omitempty"`    // when the server certificate expires
	Version string     `json:"version,omitempty"` // of the running airgap; "": unknown
}

// ServedBundle identifies a bundle, also if another bundle has the same name.
type ServedBundle struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	ID      string    `json:"id"` // of bundle.Bundle; two bundles may have one name
}

// Handler serves the HTTP requests of a registry.
type Handler struct {
	http.Handler

	problem  string // why pushes are disabled; "": they work, or are not configured
	pushes   *pushes
	hidden   []string // reserved repositories with pushed images
	damage   *damage.Log
	metrics  *metrics
	replicas []*replica
	ledger   *ledger.Ledger // nil: the registry accepts no pushes
}

// NewHandler returns a handler for the bundles:
//
//	/v2/…                      images, also with ?ns=HOST, as runtimes query mirrors
//	/token                     tokens for users who push
//	/pushed                    pushed and deleted images, for the other registries
//	/rpm/OS/…                  repositories for dnf
//	/files/…                   files by name
//	/airgap.rpm, /RPM-GPG-KEY-airgap
//	/bundles/NAME/FILE         the files of a bundle, for the store of another host;
//	                           NAME may be its ID
//	/healthz                   a Health in JSON
//	/metrics                   for Prometheus
//	/join/…                    handled by o.Join
//
// It serves the bundles as one view: if they have different content for a name, the newest bundle
// wins. The error names the lock entries that no bundle contains. Close ends the use of the pushed
// images.
func NewHandler(ctx context.Context, o Options) (*Handler, error) {
	view := bundle.NewView(bundle.NewestFirst(o.Bundles)...)
	h := &Handler{damage: new(damage.Log), metrics: newMetrics()}
	bundles, files := view.Bundles(), readLog{view.FS(), o.Log, h.damage}
	c, err := newCatalog(bundles, files)
	if err != nil {
		return nil, err
	}
	for _, d := range Disagreements(bundles) {
		o.Log.Warn("bundles have different images for a tag", "image", d.Image, "served", d.Is, "of", d.Of, "not", d.Was, "bundle", d.Not)
	}
	s, p, err := openPushes(c, o)
	if err != nil {
		// The bundles are still served, because pods need them.
		o.Log.Error("pushes are disabled", "directory", o.Pushed, "error", err.Error())
		h.problem = "pushes are disabled: " + err.Error()
		o.Pushed = ""
		if s, p, err = openPushes(c, o); err != nil {
			return nil, err
		}
	}
	h.pushes = p
	h.watchPushed(s, o.Log)
	if len(p.hidden) > 0 {
		h.hidden = p.hidden
		o.Log.Warn("pushed images are not served: their names are reserved for bundles", "repositories", h.hidden)
	}
	mux := http.NewServeMux()
	mux.Handle("/v2/", newImages(ctx, c, s, p, o.registries()))
	if s.writable {
		mux.Handle(tokenPath, p.users)
		mux.Handle(pushedPath, p.ledger)
		n, err := s.namespace(ctx)
		if err != nil {
			return nil, errors.Join(err, p.ledger.Close())
		}
		h.ledger = p.ledger
		for _, peer := range o.Peers {
			h.replicas = append(h.replicas, newReplica(peer, p, n, cmp.Or(o.Every, followEvery), o.Log))
		}
	}
	mux.Handle("/rpm/", http.FileServerFS(files))
	mux.Handle("/files/", http.FileServerFS(files))
	served := bundleFiles{bundles, o.Log, h.damage}
	mux.HandleFunc("/bundles/{name}/{file}", served.serveByName)
	mux.HandleFunc("/healthz", h.health(bundles, o))
	mux.Handle("/metrics", h.metrics.handler(h, o.Expiry))
	for _, name := range publicFiles() {
		mux.Handle("/"+name, served.serveNewest(name))
	}
	if o.Join != nil {
		mux.Handle("/join/", o.Join)
	}
	h.Handler = accessLog(readOnly(mux), o.Log, h.metrics)
	return h, nil
}

// registries returns the names of this registry and of its peers.
func (o Options) registries() []string {
	names := slices.Clone(o.Names)
	for _, peer := range o.Peers {
		names = append(names, peer.Addr())
	}
	return names
}

func openPushes(c *catalog, o Options) (storage, *pushes, error) {
	var imported []string
	if o.Brought != nil && o.Pushed != "" {
		var err error
		if imported, err = o.Brought(); err != nil {
			return storage{}, nil, err
		}
	}
	s, err := newStorage(c, o.Pushed, imported)
	if err != nil {
		return s, nil, err
	}
	p, err := newPushes(c, s, o.Users, o.Log)
	if err == nil && o.free != nil {
		p.free = o.free
	}
	return s, p, err
}

// Follow copies images that users push to the peers, until ctx ends.
func (h *Handler) Follow(ctx context.Context) {
	var all sync.WaitGroup
	for _, r := range h.replicas {
		all.Go(func() { r.follow(ctx) })
	}
	all.Wait()
}

// Close closes the ledger of the pushed images. Requests that change it fail after that.
func (h *Handler) Close() error {
	if h.ledger == nil {
		return nil
	}
	return h.ledger.Close()
}

func (h *Handler) health(bundles []*bundle.Bundle, o Options) http.HandlerFunc {
	served := []ServedBundle{}
	for _, b := range bundles {
		served = append(served, servedBundle(b))
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		answer := Health{
			Bundles: served, Problem: cmp.Or(h.problem, h.pushes.full()), NotServed: o.NotServed, Hidden: h.hidden,
			Damage: h.damage.Current(), Lags: h.lags(), Version: o.Version,
		}
		if o.Expiry != nil {
			ends := o.Expiry()
			answer.Ends = &ends
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client may have closed the connection
	}
}

func (h *Handler) lags() []Lag {
	var all []Lag
	for _, r := range h.replicas {
		all = append(all, r.Lag())
	}
	return all
}

func servedBundle(b *bundle.Bundle) ServedBundle {
	return ServedBundle{Name: b.Index().Name, Created: b.Index().Created, ID: b.ID()}
}

// readOnly refuses each method that changes something, except on paths with their own check.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decides := func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }
		if reads(r) || slices.ContainsFunc([]string{"/v2/", tokenPath, "/join/"}, decides) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "bundles are read-only")
	})
}

// writeError writes an error in the format of the OCI distribution specification.
func writeError(w http.ResponseWriter, status int, code, message string) {
	type problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]problem{"errors": {{code, message}}}) // the client may have closed the connection
}
