package verify

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// stream is a watch between the server and the engine.
type stream struct {
	*exchange

	began    time.Duration
	version  uint64 // the engine has seen all events up to it
	complete bool   // the initial list is complete
	marked   time.Time
	held     [][]byte // events that a silent watch holds
	muted    bool
}

// passWatch forwards events until the client or the server closes the watch, or the plan ends it.
func (x *exchange) passWatch(response *http.Response) {
	s := x.stream()
	events := make(chan []byte)
	go func() {
		defer close(events)
		for lines := bufio.NewReader(response.Body); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			select {
			case events <- line:
			case <-x.r.Context().Done():
				return
			}
		}
	}()
	look := time.NewTicker(x.plan.bound / 60)
	defer look.Stop()
	for {
		select {
		case line, more := <-events:
			if !more || !s.event(line) {
				return
			}
		case <-look.C:
			if x.cutAt > 0 && x.now() >= x.cutAt {
				s.write([]byte(`{"type":"MODIFIED","object":{"kin`))
				panic(http.ErrAbortHandler)
			}
			if !s.look() {
				return
			}
		case <-x.r.Context().Done():
			return
		}
	}
}

func (x *exchange) stream() *stream {
	s := &stream{exchange: x, began: x.now(), complete: !x.streams, marked: time.Now()}
	s.version, _ = strconv.ParseUint(x.query.Get("resourceVersion"), 10, 64)
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(http.StatusOK)
	s.write(nil)
	return s
}

// event forwards one event, or holds it. It returns false at the end of the watch.
func (s *stream) event(line []byte) bool {
	faultPeriod, met := s.plan.during(s.kind, s.now())
	if s.muted || met && faultPeriod.fault == short && !s.streams {
		s.held = append(s.held, line)
		return true
	}
	if met && faultPeriod.fault == goneDuring && !s.complete {
		return s.end(faultPeriod)
	}
	if met && faultPeriod.fault == unreadable {
		line = s.garbled(line)
	}
	var event struct{ Object headed }
	if json.Unmarshal(line, &event) == nil {
		s.version = max(s.version, event.Object.version())
	}
	if bytes.Contains(line, []byte("k8s.io/initial-events-end")) {
		s.complete = true
		s.list(s.kind)
	}
	if s.complete {
		s.show(s.version)
	}
	s.write(line)
	return true
}

// look applies the plan at this moment. It returns false at the end of the watch.
func (s *stream) look() bool {
	now, met := s.plan.during(s.kind, s.now())
	switch {
	case met && now.fault == short && !s.streams, !s.muted && len(s.held) > 0: // the next watch sends the held events
		s.count(short)
		return false
	case met && now.fault == mute:
		if !s.muted {
			s.count(mute)
		}
		s.muted = true
		return true
	case s.muted:
		return s.speak()
	case met && s.began < now.from:
		return s.end(now)
	case s.plan.over(unreadable, s.kind, s.began, s.now()): // the repair of an object changes it
		return s.end(faultPeriod{fault: gone})
	}
	if s.plan.mark > 0 && s.complete && time.Since(s.marked) >= s.plan.mark {
		s.bookmark(s.version, "")
	}
	return true
}

// speak ends a silence: the held events arrive late, or the stream is cut.
func (s *stream) speak() bool {
	if s.plan.streams {
		panic(http.ErrAbortHandler)
	}
	s.muted = false
	for _, line := range s.held {
		s.event(line)
	}
	s.held = nil
	return true
}

// end ends a watch that was open at the start of a fault period.
func (s *stream) end(faultPeriod faultPeriod) bool {
	switch faultPeriod.fault {
	case gone, goneDuring, slow, unreadable, older: // it must be listed again
		s.count(map[bool]fault{true: gone, false: goneDuring}[s.complete])
		s.write(fmt.Appendf(nil, `{"type":"ERROR","object":%s}`+"\n", status(http.StatusGone, "Expired")))
	case hangUp:
		s.net.drop()
	default:
	}
	return false
}

func (s *stream) write(data []byte) {
	if _, err := s.w.Write(data); err != nil {
		panic(http.ErrAbortHandler)
	}
	s.w.(http.Flusher).Flush()
}

// bookmark sends a bookmark.
func (s *stream) bookmark(version uint64, annotations string) {
	s.marked = time.Now()
	s.show(version)
	s.write(bookmark(s.kind, version, annotations))
}

// old answers like a server that is behind: with an older list, or a watch without events. The next
// list is current, as from a server that is not behind: two old lists in a row would mean that etcd
// was restored. It returns false if the engine has seen nothing newer, or requests newer events.
func (x *exchange) old() bool {
	list, is := x.past.before(x.kind, x.shown(x.kind))
	if !is {
		return false
	}
	version := versionIn(list)
	from, _ := strconv.ParseUint(x.query.Get("resourceVersion"), 10, 64)
	lists := !x.watch || x.streams && x.plan.streams
	switch {
	case !lists && (x.streams || from > version), lists && !x.turnsOld(x.kind):
		return false
	case x.watch:
		x.behind(list, version)
	default:
		x.count(older)
		x.w.Header().Set("Content-Type", "application/json")
		_, _ = x.w.Write(list)
	}
	return true
}

// turnsOld reports whether the last list was not an older one.
func (c *chaosProxy) turnsOld(k kind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.stale[k]
	c.stale[k] = true
	return !was
}

// behind serves a watch without events after an old version.
func (x *exchange) behind(list []byte, version uint64) {
	s := x.stream()
	s.count(older)
	if x.streams {
		for _, item := range itemsOf(x.kind, list) {
			s.write(added(item))
		}
		s.bookmark(version, initialEnd)
	}
	for {
		if faultPeriod, met := x.plan.during(x.kind, x.now()); !met || faultPeriod.fault != older || !x.wait(cmp.Or(x.plan.mark, time.Minute)) {
			return
		}
		s.bookmark(version, "")
	}
}

// headed has the metadata of an object or a list.
type headed struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

func (h headed) version() uint64 {
	version, _ := strconv.ParseUint(h.Metadata.ResourceVersion, 10, 64)
	return version
}

// versionIn returns the version of a list.
func versionIn(list []byte) uint64 {
	var of headed
	_ = json.Unmarshal(list, &of) // 0 is older than anything
	return of.version()
}

// itemsOf returns the objects of a list, each with its kind.
func itemsOf(k kind, list []byte) [][]byte {
	var of struct{ Items []map[string]any }
	_ = json.Unmarshal(list, &of)
	var items [][]byte
	for _, item := range of.Items {
		item["kind"], item["apiVersion"] = chaosObjects()[k].Kind, chaosObjects()[k].APIVersion
		text, _ := json.Marshal(item)
		items = append(items, text)
	}
	return items
}
