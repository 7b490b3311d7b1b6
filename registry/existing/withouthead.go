package existing

import (
	"net/http"
	"strings"
)

// withoutHead pushes to registries and proxies that do not implement HEAD for layers. It answers 404 to the library,
// which then sends the layer.
type withoutHead struct{ next http.RoundTripper }

func (t withoutHead) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil || r.Method != http.MethodHead || !strings.Contains(r.URL.Path, "/blobs/") {
		return response, err
	}
	switch response.StatusCode {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		response.StatusCode = http.StatusNotFound
	}
	return response, err
}
