package verify

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// chaosProxy is an HTTP/2 proxy between one engine and the API server. It executes its plan.
type chaosProxy struct {
	plan  *plan
	past  *past
	net   *memoryNet // to the engine
	close func()
	to    http.RoundTripper
	began time.Time

	mu     sync.Mutex
	did    map[fault]int
	lists  map[kind]int
	stale  map[kind]bool   // the last list was an old one
	newest map[kind]uint64 // newest version that the engine has seen
}

func newChaosProxy(to http.RoundTripper, p *plan, past *past) *chaosProxy {
	c := &chaosProxy{plan: p, past: past, net: newMemoryNet(), to: to, began: time.Now(), did: map[fault]int{}, lists: map[kind]int{}, stale: map[kind]bool{}, newest: map[kind]uint64{}}
	c.close = c.net.serve(c)
	return c
}

// config returns the configuration of a client of the proxy.
func (c *chaosProxy) config() *rest.Config {
	return &rest.Config{Host: "http://chaos", Transport: c.net.transport(), QPS: -1}
}

// count counts an executed fault.
func (c *chaosProxy) count(f fault) {
	if f == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did[f]++
}

// list counts a complete list.
func (c *chaosProxy) list(k kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[k]++
	c.stale[k] = false
}

// listed returns how often a kind was listed.
func (c *chaosProxy) listed(k kind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists[k]
}

func (c *chaosProxy) faults() map[fault]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.did)
}

// forget prepares for a new engine, which has seen nothing yet.
func (c *chaosProxy) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = map[kind]uint64{}
}

// show records that the engine sees a version of the kind, unless its connection is lost during
// the transfer.
func (x *exchange) show(version uint64) {
	carries := x.r.Context().Value(connection{}).(*memoryConn)
	time.AfterFunc(onItsWay, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !carries.lost() {
			x.newest[x.kind] = max(x.newest[x.kind], version)
		}
	})
}

const onItsWay = 100 * time.Millisecond

func (c *chaosProxy) shown(k kind) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest[k]
}

func (c *chaosProxy) chance(at time.Duration) (fault, bool) {
	c.mu.Lock() // rand.Rand is not safe for concurrent use
	defer c.mu.Unlock()
	return c.plan.chance(at)
}

func (c *chaosProxy) now() time.Duration { return time.Since(c.began) }

// exchange is one request.
type exchange struct {
	*chaosProxy

	w       http.ResponseWriter
	r       *http.Request
	kind    kind
	query   url.Values
	watch   bool
	streams bool // a watch that begins with a list
	cutAt   time.Duration
	late    time.Duration // delay of the answer
}

func (c *chaosProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	x := &exchange{chaosProxy: c, w: w, r: r, query: q, kind: chaosKind(r), watch: q.Get("watch") != "", streams: q.Get("sendInitialEvents") == "true"}
	if s, met := c.plan.during(x.kind, c.now()); met && x.connect(s) {
		return
	}
	if f, met := c.chance(c.now()); met && x.chanced(f) {
		return
	}
	x.pass()
}

// chaosKind returns the kind that a request lists or watches, "" for any other request.
func chaosKind(r *http.Request) kind {
	last := kind(path.Base(r.URL.Path))
	if _, is := chaosObjects()[last]; is {
		return last
	}
	return ""
}

// connect answers with the fault of a fault period, or returns false: the request continues.
func (x *exchange) connect(s faultPeriod) bool {
	switch s.fault {
	case tooMany:
		x.refuse(tooMany, http.StatusTooManyRequests, "TooManyRequests", []string{"", "0", "1"}[s.variant])
	case internal:
		x.refuse(internal, http.StatusInternalServerError, "InternalError", "")
	case unauthorized:
		x.refuse(unauthorized, http.StatusUnauthorized, "Unauthorized", "")
	case denied:
		x.refuse(denied, http.StatusForbidden, "Forbidden", "")
	case notFound:
		if x.kind == "" || x.kind == nodeReports { // for these, a 404 means that the cluster does not have them
			return false
		}
		x.refuse(notFound, http.StatusNotFound, "NotFound", "")
	case gone: // an API server answers so only to the next pages of a list
		if !x.watch && x.query.Get("continue") == "" || x.streams {
			return false
		}
		x.refuse(gone, http.StatusGone, "Expired", "")
	case slow:
		if x.watch && !x.streams {
			return false
		}
		x.count(slow)
		if s.variant == 1 { // the answer shows the current state, and arrives later
			x.late = s.to - x.now()
			return false
		}
		return !x.wait(s.to - x.now())
	case older:
		return x.kind != "" && x.old()
	case hangUp:
		x.count(hangUp)
		x.net.drop()
		panic(http.ErrAbortHandler)
	case dead:
		x.count(dead)
		x.net.kill()
	default: // the code of the answer handles mute, unreadable, short and goneDuring
		return false
	}
	return true
}

// chanced handles a fault of a single request.
func (x *exchange) chanced(f fault) bool {
	switch f {
	case goAway: // the answer is complete, and the connection closes after it
		x.count(goAway)
		x.w.Header().Set("Connection", "close")
		return false
	case cut:
		x.count(cut)
		if x.watch { // in the middle of an event, later
			x.cutAt = x.now() + 500*time.Millisecond
			return false
		}
		panic(http.ErrAbortHandler)
	case slow:
		x.count(slow)
		return !x.wait(300 * time.Millisecond)
	default:
		return x.connect(faultPeriod{fault: f})
	}
}

// wait waits for d and reports whether the client is still connected.
func (x *exchange) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-x.r.Context().Done():
		return false
	}
}

// refuse answers with a Status, like an API server.
func (x *exchange) refuse(f fault, code int, reason, retryAfter string) {
	x.count(f)
	if retryAfter != "" {
		x.w.Header().Set("Retry-After", retryAfter)
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(code)
	_, _ = x.w.Write(status(code, reason))
}

func status(code int, reason string) []byte {
	return fmt.Appendf(nil, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"chaos","reason":%q,"code":%d}`, reason, code)
}

// pass forwards the request to the API server, and returns its answer.
func (x *exchange) pass() {
	if x.streams && !x.plan.streams {
		x.refuse("", http.StatusUnprocessableEntity, "Invalid", "") // no fault: an older server
		return
	}
	response, err := x.forward()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	maps.Copy(x.w.Header(), response.Header)
	x.w.Header().Del("Content-Length")
	switch {
	case x.kind != "" && response.StatusCode == http.StatusOK && x.watch:
		x.passWatch(response)
	case x.kind != "" && response.StatusCode == http.StatusOK && x.r.Method == http.MethodGet:
		x.passList(response)
	default:
		x.w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(x.w, response.Body)
	}
}

func (x *exchange) forward() (*http.Response, error) {
	out := x.r.Clone(x.r.Context())
	out.RequestURI, out.Body = "", nil // engines only read
	out.Header.Del("Accept-Encoding")
	if x.kind != "" {
		out.Header.Set("Accept", "application/json") // the proxy reads the answer
	}
	return x.to.RoundTrip(out)
}

// passList forwards a list.
func (x *exchange) passList(response *http.Response) {
	list, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if s, met := x.plan.during(x.kind, x.now()); met && s.fault == unreadable {
		list = x.garbled(list)
	}
	if !x.wait(x.late) {
		return
	}
	x.show(versionIn(list))
	if x.query.Get("continue") == "" {
		x.list(x.kind)
	}
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(list)
}

// garbled returns JSON that does not match the type of its kind.
func (x *exchange) garbled(json []byte) []byte {
	x.count(unreadable)
	for _, field := range []string{`"heartbeat":`, `"status":`, `"subsets":`, `"endpoints":`, `"spec":`} {
		if at := bytes.Index(json, []byte(field)); at >= 0 {
			return append(append(bytes.Clone(json[:at+len(field)]), `7,"was":`...), json[at+len(field):]...)
		}
	}
	return json
}
