// Package redis has the names of github.com/redis/go-redis/v9 that the registry's engine,
// github.com/distribution/distribution, compiles with, and nothing behind them. The engine can keep
// descriptions of blobs in a Redis; airgap has none and configures none. The client itself was 5 % of
// the program, which is in every bundle twice: charts' templates call methods by name, so the linker
// drops no method of any type.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

// Nil is a client's error for a missing key.
var Nil = errors.New("redis: nil")

// UniversalOptions has the fields that the engine copies from its configuration.
type UniversalOptions struct {
	Addrs                      []string
	ClientName                 string
	DB, Protocol               int
	Username, Password         string
	SentinelUsername           string
	SentinelPassword           string
	MaxRetries                 int
	MinRetryBackoff            time.Duration
	MaxRetryBackoff            time.Duration
	DialTimeout                time.Duration
	ReadTimeout, WriteTimeout  time.Duration
	ContextTimeoutEnabled      bool
	PoolFIFO                   bool
	PoolSize                   int
	PoolTimeout                time.Duration
	MinIdleConns, MaxIdleConns int
	MaxActiveConns             int
	ConnMaxIdleTime            time.Duration
	ConnMaxLifetime            time.Duration
	MaxRedirects               int
	ReadOnly                   bool
	RouteByLatency             bool
	RouteRandomly              bool
	MasterName                 string
	DisableIdentity            bool
	IdentitySuffix             string
	UnstableResp3              bool
	TLSConfig                  *tls.Config
	OnConnect                  func(context.Context, *Conn) error
}

// Cmd is a question to a server, and its answer.
type Cmd[T any] struct{}

// Result panics: airgap creates no client.
func (*Cmd[T]) Result() (T, error) { panic("airgap has no redis") }

// Err panics as Result does.
func (*Cmd[T]) Err() error { panic("airgap has no redis") }

// Conn is a connection.
type Conn struct{}

// Ping panics: airgap creates no connection.
func (*Conn) Ping(context.Context) *Cmd[string] { panic("airgap has no redis") }

// PoolStats count connections.
type PoolStats struct{ TotalConns, IdleConns uint32 }

// Cmdable are the questions that the engine asks.
type Cmdable interface {
	Del(ctx context.Context, keys ...string) *Cmd[int64]
	HDel(ctx context.Context, key string, fields ...string) *Cmd[int64]
	HGet(ctx context.Context, key, field string) *Cmd[string]
	HMGet(ctx context.Context, key string, fields ...string) *Cmd[[]any]
	HMSet(ctx context.Context, key string, values ...any) *Cmd[bool]
	HSet(ctx context.Context, key string, values ...any) *Cmd[int64]
	HSetNX(ctx context.Context, key, field string, value any) *Cmd[bool]
	SAdd(ctx context.Context, key string, members ...any) *Cmd[int64]
	SIsMember(ctx context.Context, key string, member any) *Cmd[bool]
	SRem(ctx context.Context, key string, members ...any) *Cmd[int64]
}

// Pipeliner asks several questions at once.
type Pipeliner interface {
	Cmdable

	Exec(ctx context.Context) ([]any, error)
}

// UniversalClient is a client of one server or of several.
type UniversalClient interface {
	Cmdable

	TxPipeline() Pipeliner
	PoolStats() *PoolStats
}

// NewUniversalClient panics: a configuration with a Redis is a bug in airgap.
func NewUniversalClient(*UniversalOptions) UniversalClient { panic("airgap has no redis") }
