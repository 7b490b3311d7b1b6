package nodereport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"airgap.dev/airgap/internal/httpclient"
)

// ProxyModeURL is the URL of kube-proxy's mode, which only its own host can reach (kube-proxy,
// metricsBindAddress).
const ProxyModeURL = "http://127.0.0.1:10249/proxyMode"

// ProxyMode returns the mode that kube-proxy reports: "nftables", "iptables".
func ProxyMode(ctx context.Context, url string) (string, error) {
	mode, err := get(ctx, httpclient.New(&http.Transport{DisableKeepAlives: true}), url)
	if err != nil {
		return "", fmt.Errorf("read kube-proxy's mode: %w", err)
	}
	return strings.TrimSpace(string(mode)), nil
}

// maxAnswer, in bytes, is far more than each expected answer.
const maxAnswer = 1 << 20

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return ask(client, request)
}

// ask returns the body, also together with the error of a status that is not 200.
func ask(client *http.Client, request *http.Request) ([]byte, error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, plain(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", request.URL.Host, response.Status)
	}
	return body, err
}
