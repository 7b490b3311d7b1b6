package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/bundle"
)

// Options say what a registry serves.
type Options struct {
	Bundles []*bundle.Bundle
	Pushed  string                   // directory of what the site pushes; "" where nobody may push
	Users   string                   // htpasswd file (bcrypt) of those who may; without it nobody may
	Brought func() ([]string, error) // names of the images of earlier bundles; nil for none
	Peers   []*Client                // the other registries, whose pushes this one copies
	Names   []string                 // HOST:PORT that this registry is known by; what it is asked by needs not be among them
	Expiry  func() time.Time         // of the server's certificate, for its metric; nil for none
	Every   time.Duration            // how often it asks them; 0 is 5 s
	Join    http.Handler             // answers below /join/; nil when nobody may join here
	Log     *slog.Logger             // one line a request, and every read that failed
	Version string                   // of the program that serves
}

// Health is what /healthz answers.
type Health struct {
	Bundles []ServedBundle `json:"bundles"`           // that are being served
	Problem string         `json:"problem,omitempty"` // with the pushes
	Hidden  []string       `json:"hidden,omitempty"`  // repositories whose pushed images are not served: the names are reserved
	Damage  []Damage       `json:"damage,omitempty"`  // of them, as far as somebody has read it
	Lags    []Lag          `json:"lags,omitempty"`    // how far this registry is behind the others
	Ends    *time.Time     `json:"ends,omitempty"`    // when its certificate does
	Version string         `json:"version,omitempty"` // of airgap that runs; "" of one that did not say
}

// ServedBundle tells one bundle from another one of the same name.
type ServedBundle struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	ID      string    `json:"id"` // bundle.Bundle's; two bundles may have one name
}

// Handler is a registry.
type Handler struct {
	http.Handler

	problem  string   // why nobody may push; "" when that is as it was wanted
	hidden   []string // reserved repositories with pushed images
	damage   *damageBook
	metrics  *metrics
	replicas []*replica
}

// NewHandler serves the bundles:
//
//	/v2/…                      images, also with ?ns=HOST as runtimes ask mirrors
//	/token                     tokens for those who push
//	/pushed                    what was pushed and deleted, for the other registries
//	/rpm/OS/…                  repositories for dnf
//	/files/…                   files by name
//	/airgap.rpm, /RPM-GPG-KEY-airgap
//	/bundles/NAME/FILE         a bundle's own files, for the store of another host;
//	                           NAME may be its ID
//	/healthz                   a Health in JSON
//	/metrics                   for Prometheus
//	/join/…                    o.Join
//
// The bundles are served as one view: where they disagree, the newest wins. The
// error says which lock names what no bundle holds.
func NewHandler(ctx context.Context, o Options) (*Handler, error) {
	view := bundle.NewView(bundle.NewestFirst(o.Bundles)...)
	h := &Handler{damage: new(damageBook), metrics: newMetrics()}
	bundles, files := view.Bundles(), readLog{view.FS(), o.Log, h.damage}
	c, err := newCatalog(bundles, files)
	if err != nil {
		return nil, err
	}
	for _, d := range Disagreements(bundles) {
		o.Log.Warn("bundles disagree on a tag", "image", d.Image, "served", d.Is, "of", d.Of, "not", d.Was, "bundle", d.Not)
	}
	s, p, err := openPushes(c, o)
	if err != nil {
		// The bundles are served all the same: pods wait for them.
		o.Log.Error("nobody may push", "directory", o.Pushed, "error", err.Error())
		h.problem = "nobody may push: " + err.Error()
		o.Pushed = ""
		if s, p, err = openPushes(c, o); err != nil {
			return nil, err
		}
	}
	if p.ledger != nil && len(p.ledger.hidden) > 0 {
		h.hidden = p.ledger.hidden
		o.Log.Warn("pushed images are not served: their names are reserved for bundles", "repositories", h.hidden)
	}
	known := slices.Clone(o.Names)
	for _, peer := range o.Peers {
		known = append(known, peer.Addr())
	}
	all, err := newImages(ctx, c, s, p, known)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v2/", all)
	if s.writable {
		mux.Handle(tokenPath, p.users)
		mux.Handle(pushedPath, p.ledger)
		for _, peer := range o.Peers {
			h.replicas = append(h.replicas, newReplica(peer, p, all.referrers.namespace, cmp.Or(o.Every, followEvery), o.Log))
		}
	}
	mux.Handle("/rpm/", http.FileServerFS(files))
	mux.Handle("/files/", http.FileServerFS(files))
	own := own{bundles, o.Log, h.damage}
	mux.HandleFunc("/bundles/{name}/{file}", own.whole)
	mux.HandleFunc("/healthz", h.health(bundles, o.Expiry, o.Version))
	mux.Handle("/metrics", h.metrics.handler(h, o.Expiry))
	for _, name := range besides() {
		mux.Handle("/"+name, own.beside(name))
	}
	if o.Join != nil {
		mux.Handle("/join/", o.Join)
	}
	h.Handler = accessLog(readOnly(mux), o.Log, h.metrics)
	return h, nil
}

func openPushes(c *catalog, o Options) (storage, *pushes, error) {
	var brought []string
	if o.Brought != nil && o.Pushed != "" {
		var err error
		if brought, err = o.Brought(); err != nil {
			return storage{}, nil, err
		}
	}
	s, err := newStorage(c, o.Pushed, brought)
	if err != nil {
		return s, nil, err
	}
	p, err := newPushes(c, s, o.Users, o.Log)
	return s, p, err
}

// Follow copies what is pushed to the peers, until ctx ends.
func (h *Handler) Follow(ctx context.Context) {
	var all sync.WaitGroup
	for _, r := range h.replicas {
		all.Go(func() { r.follow(ctx) })
	}
	all.Wait()
}

func (h *Handler) health(bundles []*bundle.Bundle, expiry func() time.Time, version string) http.HandlerFunc {
	served := []ServedBundle{}
	for _, b := range bundles {
		served = append(served, servedBundle(b))
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		answer := Health{Bundles: served, Problem: h.problem, Hidden: h.hidden, Damage: h.damage.standing(), Lags: h.lags(), Version: version}
		if expiry != nil {
			ends := expiry()
			answer.Ends = &ends
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // a client that left is no error of ours
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

// readOnly refuses every method that would change something, except where a
// handler decides for itself.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decides := func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }
		if reads(r) || slices.ContainsFunc([]string{"/v2/", tokenPath, "/join/"}, decides) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "bundles are read only")
	})
}

// writeError answers in the form that OCI clients print.
func writeError(w http.ResponseWriter, status int, code, message string) {
	type problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]problem{"errors": {{code, message}}}) // as in health
}
