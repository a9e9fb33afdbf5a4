//go:build stress

package db

func init() { kills = 200 }
