package nodereport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"airgap.dev/airgap/internal/httpclient"
)

// EtcdHealth is where kubeadm has etcd say how it is, to whoever asks.
const EtcdHealth = "http://127.0.0.1:2381/health"

// Answers reports whether the member said anything of itself.
func (e *Etcd) Answers() bool { return len(e.Members)+len(e.Unstarted) > 0 }

// EtcdTrouble is etcd's own reason at the URL of its health, "" when it is healthy.
func EtcdTrouble(ctx context.Context, url string) string {
	body, err := get(ctx, httpclient.New(&http.Transport{DisableKeepAlives: true}), url)
	var says struct{ Health, Reason string }
	if json.Unmarshal(body, &says) == nil {
		if says.Health == "true" {
			return ""
		}
		return "it is not healthy: " + says.Reason
	}
	if err == nil {
		err = errors.New("it answered something else")
	}
	return fmt.Sprintf("ask for its health: %v", err)
}
