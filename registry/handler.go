package registry

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
)

// Options say what a registry serves.
type Options struct {
	Bundles []*bundle.Bundle
	Join    http.Handler // answers below /join/; nil when nobody may join here
	Log     *slog.Logger // one line a request, and every read that failed
}

// Health is what /healthz answers: the bundles that are being served.
type Health struct {
	Bundles []ServedBundle `json:"bundles"`
}

// ServedBundle tells one bundle from another one of the same name.
type ServedBundle struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	ID      string    `json:"id"` // bundle.Bundle's; two bundles may have one name
}

// besides are the files next to the parts that hosts without airgap fetch.
func besides() []string { return []string{"airgap.rpm", "RPM-GPG-KEY-airgap"} }

// NewHandler serves the bundles:
//
//	/v2/…                      images, also with ?ns=HOST as runtimes ask mirrors
//	/rpm/OS/…                  repositories for dnf
//	/files/…                   files by name
//	/airgap.rpm, /RPM-GPG-KEY-airgap
//	/bundles/NAME/FILE         a bundle's own files, for the store of another host;
//	                           NAME may be its ID
//	/healthz                   a Health in JSON
//	/join/…                    o.Join
//
// The bundles are served as one view: where they disagree, the newest wins. The
// error says which lock names what no bundle holds.
func NewHandler(ctx context.Context, o Options) (http.Handler, error) {
	view := bundle.NewView(bundle.NewestFirst(o.Bundles)...)
	bundles, files := view.Bundles(), readLog{view.FS(), o.Log}
	c, err := newCatalog(bundles, files)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v2/", images{catalog: c, engine: newEngine(ctx, newTree(c))})
	mux.Handle("/rpm/", http.FileServerFS(files))
	mux.Handle("/files/", http.FileServerFS(files))
	mux.HandleFunc("/bundles/{name}/{file}", whole(bundles))
	mux.Handle("/healthz", health(bundles))
	for _, name := range besides() {
		mux.Handle("/"+name, beside(bundles, name))
	}
	if o.Join != nil {
		mux.Handle("/join/", o.Join)
	}
	return accessLog(readOnly(mux), o.Log), nil
}

func beside(bundles []*bundle.Bundle, name string) http.Handler {
	if len(bundles) == 0 {
		return http.NotFoundHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, bundles[0].Files(), name)
	})
}

func health(bundles []*bundle.Bundle) http.Handler {
	h := Health{Bundles: []ServedBundle{}}
	for _, b := range bundles {
		h.Bundles = append(h.Bundles, servedBundle(b))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(h) // a client that left is no error of ours
	})
}

func servedBundle(b *bundle.Bundle) ServedBundle {
	return ServedBundle{Name: b.Index().Name, Created: b.Index().Created, ID: b.ID()}
}

// readOnly refuses every method that would change something, except where the
// join handler decides for itself.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasPrefix(r.URL.Path, "/join/") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "this registry serves bundles and takes no push")
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
