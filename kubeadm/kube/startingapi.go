package kube

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// rolesRead bounds the wait for an API server to read its roles.
const rolesRead = 30 * time.Second

// maxRefusal is the maximum size of a refusal in bytes: it is one short sentence.
const maxRefusal = 64 << 10

// awaitingRoles repeats the requests of the cluster's administrator that RBAC refuses. An API
// server that has just started answers before it has read the roles, and refuses everything
// for a moment. kubeadm upgrade, the new kubelet and a rotation restart it. The administrator
// has every right, so any other refusal by RBAC comes from a change of the cluster:
// the first lasting one ends the wait.
type awaitingRoles struct {
	next     http.RoundTripper
	atMost   time.Duration
	hopeless atomic.Bool
}

func awaitRoles(next http.RoundTripper) http.RoundTripper {
	return &awaitingRoles{next: next, atMost: rolesRead}
}

// WrappedRoundTripper returns the next transport: client-go cancels requests and closes connections there.
func (a *awaitingRoles) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip is http.RoundTripper. Its last answer is the API server's own.
func (a *awaitingRoles) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	var refused *http.Response // the last one
	for {
		resp, err := a.next.RoundTrip(r)
		if refused != nil {
			if err != nil && r.Context().Err() != nil {
				return refused, nil //nolint:nilerr // the caller's time is up, and the refusal says more than that
			}
			refused.Body.Close()
		}
		if err != nil || a.hopeless.Load() || !lacksRole(resp) {
			return resp, err
		}
		if time.Since(began) > a.atMost {
			a.hopeless.Store(true)
			return resp, nil
		}
		again, is := repeated(r)
		if !is {
			return resp, nil
		}
		select {
		case <-r.Context().Done():
			return resp, nil
		case <-time.After(a.atMost / 60):
		}
		r, refused = again, resp
	}
}

// repeated returns a copy of the request; is is false if its body cannot be sent twice.
func repeated(r *http.Request) (again *http.Request, is bool) {
	again = r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

// lacksRole distinguishes a refusal by RBAC from one by an admission plugin, which has the same
// status. It compares with the text of the API server's responsewriters.Forbidden, in JSON or in
// protobuf. The body can be read afterwards.
func lacksRole(resp *http.Response) bool {
	if resp.StatusCode != http.StatusForbidden {
		return false
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), rest}
	return err == nil && bytes.Contains(start, []byte("User ")) && bytes.Contains(start, []byte(`" cannot `))
}
