package httpclient

import (
	"net/http"
	"strings"
	"testing"
)

type answers struct{ asked []string }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func TestPasswordsOfRegistries(t *testing.T) {
	for _, c := range []struct {
		host, to, authorization string
		form                    bool
		want                    string
	}{
		{host: "index.docker.io", to: "https://auth.docker.io/token", authorization: "Basic x"},
		{host: "registry.gitlab.com", to: "https://gitlab.com/jwt/auth", authorization: "Basic x"},
		{host: "harbor:8443", to: "https://harbor/service/token", authorization: "basic x"},
		{host: "10.0.0.1:443", to: "https://10.0.0.1/token", authorization: "Basic x"},
		{host: "lscr.io", to: "https://ghcr.io/token"}, // without a name
		{host: "quay.io", to: "https://cdn.example/blob", authorization: "Bearer other"},
		{host: "mirror.bank.example", to: "https://auth.docker.io/token", authorization: "Basic x", want: "its token server is auth.docker.io"},
		{host: "mirror.bank.example", to: "https://auth.docker.io/token", form: true, want: "sends no password"},
		{host: "10.0.0.1", to: "https://10.0.0.2/token", authorization: "Basic x", want: "sends no password"},
		{host: "harbor", to: "https://nexus/token", authorization: "Basic x", want: "sends no password"},
		{host: "a.co.uk", to: "https://b.co.uk/token", authorization: "Basic x", want: "sends no password"},
		{host: "quay.io", to: "http://quay.io/v2/", want: "asked by https only"},
	} {
		below := &answers{}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		if c.form {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		response, err := Registry(below, c.host).RoundTrip(r)
		if err == nil {
			response.Body.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(below.asked) > 0) {
			t.Errorf("%s, %s: %v; asked %v", c.host, c.to, err, below.asked)
		}
	}
}
