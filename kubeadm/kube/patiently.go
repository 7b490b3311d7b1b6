package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// slowAPI is for an API server that answers, but not each time: on a slow host it has
// much to do right after an installation.
const slowAPI = 2 * time.Minute

// Retry asks the API server until it answers, unless its answer is a no.
func Retry[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	return RetryFor(ctx, slowAPI, ask)
}

// RetryFor is Retry with a limit.
func RetryFor[T any](ctx context.Context, limit time.Duration, ask func(context.Context) (T, error)) (answer T, err error) {
	var last error
	err = wait.PollUntilContextTimeout(ctx, time.Second, limit, true, func(ctx context.Context) (bool, error) {
		answer, last = ask(ctx)
		if apierrors.ReasonForError(last) != metav1.StatusReasonUnknown && !apierrors.IsServerTimeout(last) && !apierrors.IsTooManyRequests(last) && !apierrors.IsTimeout(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil && last != nil {
		err = last
	}
	return answer, err
}
