package kube

import (
	"errors"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/manifests"
)

// Unanswered reports whether a request to the API server failed temporarily: it got no answer, or one that asks for another
// try. It is false for requests to other servers.
func Unanswered(err error) bool {
	if !manifests.Transient(err) {
		return false
	}
	asked, is := errors.AsType[*url.Error](err)
	if !is {
		return apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	}
	u, err := url.Parse(asked.URL)
	return err == nil && (strings.HasPrefix(u.Path, "/api/") || strings.HasPrefix(u.Path, "/apis/"))
}
