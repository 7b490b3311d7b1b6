package main

import (
	"context"
	"encoding/json"
	"os"
	"os/user"
	"time"

	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify"
)

// aboutRun is what a verdict says of itself. A server that does not answer
// leaves its version out: that it does not is the verdict's to tell.
func aboutRun(ctx context.Context, client kubernetes.Interface) verify.About {
	about := verify.About{Program: version(), By: whoami()}
	rest := client.Discovery().RESTClient()
	about.Server = rest.Get().URL().Host
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var info apiversion.Info
	if data, err := rest.Get().AbsPath("/version").Do(limited).Raw(); err == nil && json.Unmarshal(data, &info) == nil {
		about.Version = info.GitVersion
	}
	return about
}

// whoami is USER on HOST, as far as the host knows.
func whoami() string {
	by, on := "", ""
	if u, err := user.Current(); err == nil {
		by = u.Username
	}
	if su := os.Getenv("SUDO_USER"); su != "" {
		by = su + " as " + by
	}
	if name, err := os.Hostname(); err == nil {
		on = " on " + name
	}
	return by + on
}
