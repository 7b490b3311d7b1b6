package registry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
	"github.com/sirupsen/logrus"
)

// newEngine is the distribution registry over the tree. It opens no port and,
// made this way, starts no telemetry: only the engine's own main does.
func newEngine(ctx context.Context, t tree) http.Handler {
	enterProcess()
	return handlers.NewApp(ctx, &configuration.Configuration{
		Storage: configuration.Storage{
			driverName: {treeParameter: t},
			"redirect": {"disable": true},
			"maintenance": {
				"readonly":      map[any]any{"enabled": true},
				"uploadpurging": map[any]any{"enabled": false},
			},
		},
		Catalog: configuration.Catalog{MaxEntries: 1000},
	})
}

// enterProcess does what the engine keeps once a process: its drivers are
// found by name, and it logs to logrus' standard logger. Its log is switched
// off, since our access log has every request and fileLog every failed read.
//
//nolint:gochecknoglobals // the engine's registry of drivers is a global itself
var enterProcess = sync.OnceFunc(func() {
	factory.Register(driverName, driverFactory{})
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.PanicLevel)
})

// treeParameter carries the tree through the engine's configuration.
const treeParameter = "tree"

type driverFactory struct{}

func (driverFactory) Create(_ context.Context, parameters map[string]any) (storagedriver.StorageDriver, error) {
	t, ok := parameters[treeParameter].(tree)
	if !ok {
		return nil, errors.New("create storage driver: no tree among the parameters")
	}
	return driver{t}, nil
}
