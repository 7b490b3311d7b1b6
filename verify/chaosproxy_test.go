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

// chaosProxy stands between one engine and the API server, speaks HTTP/2 to both, and
// does what its plan says.
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
	stale  map[kind]bool   // the newest list was an old one
	newest map[kind]uint64 // version that the engine has seen since it began
}

func newChaosProxy(to http.RoundTripper, p *plan, past *past) *chaosProxy {
	c := &chaosProxy{plan: p, past: past, net: newMemoryNet(), to: to, began: time.Now(), did: map[fault]int{}, lists: map[kind]int{}, stale: map[kind]bool{}, newest: map[kind]uint64{}}
	c.close = c.net.serve(c)
	return c
}

// config is for a client of the proxy.
func (c *chaosProxy) config() *rest.Config {
	return &rest.Config{Host: "http://chaos", Transport: c.net.transport(), QPS: -1}
}

// count notes a fault that was done.
func (c *chaosProxy) count(f fault) {
	if f == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did[f]++
}

// list notes a complete list.
func (c *chaosProxy) list(k kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[k]++
	c.stale[k] = false
}

// listed is how often a kind was listed.
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

// forget is for an engine that begins: it has seen nothing yet.
func (c *chaosProxy) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = map[kind]uint64{}
}

// show notes that the engine gets to see a version of the kind, unless its connection is lost
// while that is on its way.
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
	c.mu.Lock() // a source of chance is not for several goroutines
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
	late    time.Duration // how long the answer stays on its way
}

func (c *chaosProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	x := &exchange{chaosProxy: c, w: w, r: r, query: q, kind: chaosKind(r), watch: q.Get("watch") != "", streams: q.Get("sendInitialEvents") == "true"}
	if s, met := c.plan.during(x.kind, c.now()); met && x.meet(s) {
		return
	}
	if f, met := c.chance(c.now()); met && x.chanced(f) {
		return
	}
	x.pass()
}

// chaosKind is the kind that a request lists or watches, "" for any other request.
func chaosKind(r *http.Request) kind {
	last := kind(path.Base(r.URL.Path))
	if _, is := chaosObjects()[last]; is {
		return last
	}
	return ""
}

// meet answers by the fault of a spell, or says that the request may go on.
func (x *exchange) meet(s spell) bool {
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
		if x.kind == "" || x.kind == nodeReports { // a cluster that says so of these has none
			return false
		}
		x.refuse(notFound, http.StatusNotFound, "NotFound", "")
	case gone: // of lists, only those that go on are answered so
		if !x.watch && x.query.Get("continue") == "" || x.streams {
			return false
		}
		x.refuse(gone, http.StatusGone, "Expired", "")
	case slow:
		if x.watch && !x.streams {
			return false
		}
		x.count(slow)
		if s.variant == 1 { // what it says is of now, and arrives later
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
	default: // of mute, unreadable, short and goneAmid, the answer knows
		return false
	}
	return true
}

// chanced is meet for a fault of one request.
func (x *exchange) chanced(f fault) bool {
	switch f {
	case goAway: // the answer is whole, and the connection takes no more requests
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
		return x.meet(spell{fault: f})
	}
}

// wait reports whether the client is still there after d.
func (x *exchange) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-x.r.Context().Done():
		return false
	}
}

// refuse answers by a Status, as an API server does.
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

// pass hands the request to the API server, and its answer back.
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
		out.Header.Set("Accept", "application/json") // so that a proxy can read it
	}
	return x.to.RoundTrip(out)
}

// passList hands a list on.
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

// garbled is JSON that is not of its kind's form.
func (x *exchange) garbled(json []byte) []byte {
	x.count(unreadable)
	for _, field := range []string{`"heartbeat":`, `"status":`, `"subsets":`, `"endpoints":`, `"spec":`} {
		if at := bytes.Index(json, []byte(field)); at >= 0 {
			return append(append(bytes.Clone(json[:at+len(field)]), `7,"was":`...), json[at+len(field):]...)
		}
	}
	return json
}
