package fetch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/ui"
)

// GroupUnreachable replaces all failed connections in err by one error that names each server or proxy
// once, because one missing proxy setting can fail every image. Other errors stay.
func GroupUnreachable(err error) error {
	var others []error
	var hosts []string
	causes := map[string]error{}
	for _, one := range joined(err) {
		unreachable := UnreachableIn(one)
		if unreachable == nil {
			others = append(others, one)
		}
		for _, u := range unreachable {
			if causes[u.Host] == nil {
				hosts, causes[u.Host] = append(hosts, u.Host), u.Cause
			}
		}
	}
	if len(hosts) == 0 {
		return err
	}
	lines := []string{"connect to " + ui.Count(len(hosts), "server") + ":"}
	var hints []string
	for _, host := range hosts {
		lines = append(lines, fmt.Sprintf("  %s: %v", host, causes[host]))
		hint := "check DNS and the firewall for these servers; behind a proxy, set sources.proxy of airgap.yaml or HTTPS_PROXY; for a mirror, set sources.rewrite"
		if proxy, is := errors.AsType[*httpclient.ProxyError](causes[host]); is {
			hint = proxy.Hint()
		}
		if !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	unreachable := advice.Replace(errors.New(strings.Join(lines, "\n")), "%s", strings.Join(hints, "\n"))
	return errors.Join(append([]error{unreachable}, others...)...)
}

// joined returns the errors of errors.Join, at any depth, in their order.
func joined(err error) []error {
	list, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, one := range list.Unwrap() {
		all, texts = append(all, joined(one)...), append(texts, one.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // fmt.Errorf with several %w
		return []error{err}
	}
	return all
}
