// Package redisotel has the functions of github.com/redis/go-redis/extra/redisotel that the registry's
// engine calls; see package redis.
package redisotel

import "github.com/redis/go-redis/v9"

// InstrumentMetrics does nothing, since there is no client.
func InstrumentMetrics(redis.UniversalClient) error { return nil }
