package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/verify/nodereport"
)

// memoryServer implements the parts of an API server that engines and tests use: lists, watches,
// bookmarks and writes. TestMemoryServer compares it with the real one.
type memoryServer struct {
	mu      sync.Mutex
	version uint64
	objects map[kind]map[string]json.RawMessage // by namespace/name
	events  []memoryEvent
	news    chan struct{} // closed at the next event
	pages   [][]byte      // incomplete lists, by continue token
}

type memoryEvent struct {
	kind    kind
	key     string
	version uint64
	line    []byte
}

func newMemoryServer() *memoryServer {
	return &memoryServer{version: 1000, objects: map[kind]map[string]json.RawMessage{}, news: make(chan struct{})}
}

// memoryBackup is the state of etcd at a time.
type memoryBackup struct {
	version uint64
	objects map[kind]map[string]json.RawMessage
}

func (s *memoryServer) backup() memoryBackup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := memoryBackup{s.version, map[kind]map[string]json.RawMessage{}}
	for k, objects := range s.objects {
		b.objects[k] = maps.Clone(objects)
	}
	return b
}

// restore goes back to a backup. Watches continue and receive no event.
func (s *memoryServer) restore(b memoryBackup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.objects, s.events = b.version, b.objects, nil
}

func (s *memoryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	k, namespace, name := memoryPath(r.URL.Path)
	key := namespace + "/" + name
	switch {
	case r.URL.Path == "/readyz":
		fmt.Fprint(w, "ok")
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
	case r.URL.Path == "/apis/"+nodereport.Resource.GroupVersion().String():
		fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[{"name":"nodereports","kind":"NodeReport","verbs":["list","watch"]}]}`, nodereport.Resource.GroupVersion())
	case k == "":
		refuse(w, http.StatusNotFound, "NotFound")
	case r.Method != http.MethodGet:
		s.write(w, r, k, key)
	case name != "":
		s.get(w, k, key)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, k, namespace)
	default:
		s.answer(w, k, namespace, r.URL.Query())
	}
}

// answer lists a kind at least at a version. A version in the future is an error.
func (s *memoryServer) answer(w http.ResponseWriter, k kind, namespace string, q url.Values) {
	list, version, at := s.list(k, namespace), uint64(0), 0
	if token := q.Get("continue"); token != "" {
		list, at = s.goesOn(token)
	} else {
		version, _ = strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	}
	if version <= versionIn(list) {
		if q.Get("limit") != "" {
			list = s.page(k, list, at)
		}
		_, _ = w.Write(list)
		return
	}
	w.WriteHeader(http.StatusGatewayTimeout)
	fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Too large resource version","reason":"Timeout","code":504,`+
		`"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}`)
}

// pageSize is smaller than any requested limit, so that few objects need more than one page.
const pageSize = 3

// page returns a part of a list, starting at an index.
func (s *memoryServer) page(k kind, list []byte, at int) []byte {
	items := itemsOf(k, list)
	if at+pageSize >= len(items) {
		return listOf(k, versionIn(list), "", items[at:])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, list)
	return listOf(k, versionIn(list), fmt.Sprintf("%d %d", len(s.pages)-1, at+pageSize), items[at:at+pageSize])
}

// goesOn returns the list of a continue token, and the next index.
func (s *memoryServer) goesOn(token string) (list []byte, at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nth := 0
	_, _ = fmt.Sscan(token, &nth, &at) // created by page
	return s.pages[nth], at
}

func listOf(k kind, version uint64, token string, items [][]byte) []byte {
	of := chaosObjects()[k]
	return fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`, of.Kind, of.APIVersion, version, token, bytes.Join(items, []byte(",")))
}

// memoryPath returns the kind of a path, and the namespace and name of an object.
func memoryPath(path string) (k kind, namespace, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	return kind(parts[0]), namespace, parts[1]
}

// within reports whether a key is in a namespace, "" for all.
func within(key, namespace string) bool {
	return namespace == "" || strings.HasPrefix(key, namespace+"/")
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(status(code, reason))
}

func (s *memoryServer) get(w http.ResponseWriter, k kind, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object, there := s.objects[k][key]; there {
		_, _ = w.Write(object)
		return
	}
	refuse(w, http.StatusNotFound, "NotFound")
}

func (s *memoryServer) list(k kind, namespace string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := make([][]byte, 0, len(s.objects[k]))
	for _, key := range slices.Sorted(maps.Keys(s.objects[k])) {
		if within(key, namespace) {
			items = append(items, s.objects[k][key])
		}
	}
	return listOf(k, s.version, "", items)
}

// write stores a complete object, including its status.
func (s *memoryServer) write(w http.ResponseWriter, r *http.Request, k kind, key string) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	var object map[string]any
	if r.Method != http.MethodDelete && json.Unmarshal(body, &object) != nil {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if r.Method == http.MethodPost {
		meta := object["metadata"].(map[string]any)
		namespace, _ := meta["namespace"].(string)
		key = namespace + "/" + meta["name"].(string)
	}
	_, there := s.objects[k][key]
	switch {
	case r.Method == http.MethodPost && there:
		refuse(w, http.StatusConflict, "AlreadyExists")
	case (r.Method == http.MethodPut || r.Method == http.MethodDelete) && !there:
		refuse(w, http.StatusNotFound, "NotFound")
	default:
		_, _ = w.Write(s.change(k, key, object, there))
	}
}

// change creates, replaces or, if object is nil, deletes an object.
func (s *memoryServer) change(k kind, key string, object map[string]any, there bool) []byte {
	s.version++
	event := map[bool]string{true: "MODIFIED", false: "ADDED"}[there]
	if object == nil {
		event = "DELETED"
		_ = json.Unmarshal(s.objects[k][key], &object)
	}
	meta := object["metadata"].(map[string]any)
	meta["resourceVersion"] = strconv.FormatUint(s.version, 10)
	if _, has := meta["uid"]; !has {
		meta["uid"] = string(k) + key
	}
	if meta["creationTimestamp"] == nil {
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	text, _ := json.Marshal(object)
	if s.objects[k] == nil {
		s.objects[k] = map[string]json.RawMessage{}
	}
	if s.objects[k][key] = text; event == "DELETED" {
		delete(s.objects[k], key)
	}
	s.events = append(s.events, memoryEvent{k, key, s.version, fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", event, text)})
	close(s.news)
	s.news = make(chan struct{})
	return text
}

// since returns the events of a kind after a version, and a channel that closes at the next event.
func (s *memoryServer) since(k kind, namespace string, version uint64) (lines [][]byte, now uint64, news <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.kind == k && e.version > version && within(e.key, namespace) {
			lines = append(lines, e.line)
		}
	}
	return lines, s.version, s.news
}

// watch streams the events after a version, with a bookmark each minute.
func (s *memoryServer) watch(w http.ResponseWriter, r *http.Request, k kind, namespace string) {
	send := func(data []byte) {
		_, _ = w.Write(data)
		w.(http.Flusher).Flush()
	}
	q := r.URL.Query()
	version, _ := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	if q.Get("sendInitialEvents") == "true" {
		if _, now, _ := s.since(k, namespace, 0); version > now {
			s.answer(w, k, namespace, q)
			return
		}
		list := s.list(k, namespace)
		version = versionIn(list)
		for _, item := range itemsOf(k, list) {
			send(added(item))
		}
		send(bookmark(k, version, initialEnd))
	}
	send(nil)
	mark := time.NewTicker(time.Minute)
	defer mark.Stop()
	seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
	over := time.NewTimer(time.Duration(max(seconds, 1)) * time.Second)
	defer over.Stop()
	for {
		lines, now, news := s.since(k, namespace, version)
		for _, line := range lines {
			send(line)
		}
		version = max(version, now) // after a restore, the requested version is in the future
		select {
		case <-news:
		case <-mark.C:
			if now >= version {
				send(bookmark(k, version, ""))
			}
		case <-over.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

const initialEnd = `,"annotations":{"k8s.io/initial-events-end":"true"}`

func added(object []byte) []byte {
	return fmt.Appendf(nil, `{"type":"ADDED","object":%s}`+"\n", object)
}

// bookmark returns a bookmark event at a version.
func bookmark(k kind, version uint64, annotations string) []byte {
	of := chaosObjects()[k]
	return fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s}}}`+"\n", of.Kind, of.APIVersion, version, annotations)
}
