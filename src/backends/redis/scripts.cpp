#include "backends/redis/scripts.hpp"

#include <openssl/evp.h>

namespace holdfast::redis {
namespace {

[[nodiscard]] std::string sha1_hex(std::string_view text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        hex.push_back("0123456789abcdef"[digest[i] >> 4]);
        hex.push_back("0123456789abcdef"[digest[i] & 15]);
    }
    return hex;
}

// Answers, everywhere: {1, fence} yours · {0, ms, holder, place} contended, look again after ms ·
// {-1, us} came too late, the server's clock says so.

constexpr const char* server_time = R"(
local clock = redis.call('time')
local us = clock[1] * 1000000 + clock[2]
)";

/// What was sent so long ago that its sender has taken it back is late. ARGV[3], everywhere, is
/// until when it is not; 0: no limit.
constexpr const char* in_time = R"(
local not_after = ARGV[3] + 0
local late = not_after > 0 and us > not_after
)";

/// Asked for before anything else is written: it fails if the key holds no number, and a script
/// that failed has changed nothing.
/// The fences of one grant end at a multiple of 65, which is what the key keeps. A number in
/// between is Java's: from then on the key lives for ever, because Java's counter would begin again
/// at one.
/// Before Redis 6.2 one cannot set and get at once; there an error says so, and the key is as it
/// was.
constexpr const char* fences = R"(
local function next_fence(key, keep)
  local top = us - us % 65 + 65
  local last = redis.pcall('set', key, string.format('%d', top), 'keepttl', 'get')
  if not last then
    redis.call('pexpire', key, keep)
    return top - 64
  end
  local number = tonumber(last)
  if number and number % 65 == 0 and number < top - 64 then return top - 64 end

  if type(last) == 'table' then
    last = redis.call('get', key) or '0'
    number = tonumber(last)
  elseif not number then redis.call('set', key, last, 'keepttl') end
  if not number then redis.call('llen', key) end -- says WRONGTYPE, in the words of any version
  if number >= top - 64 then top = number - number % 65 + (number % 65 == 0 and 65 or 130) end
  local ttl = redis.call('pttl', key)
  redis.call('set', key, string.format('%d', top))
  if number == 0 then redis.call('pexpire', key, keep)
  elseif number % 65 == 0 and ttl > 0 then redis.call('pexpire', key, ttl) end
  return top - 64
end
local function same_fence(key, keep)
  local top = redis.call('get', key)
  return top and top - 64 or next_fence(key, keep)
end
)";

/// Since Redis 7 a new user may use no channel. What was freed is free all the same: whoever waits
/// then has to look from time to time.
constexpr const char* announcing = R"(
local function announce(publish, channel, message)
  if publish == 'both' then
    return announce('publish', channel, message) + announce('spublish', channel, message)
  end
  local heard = redis.pcall(publish, channel, message)
  return type(heard) == 'number' and heard or 0
end
)";

// KEYS lock token            ARGV holder ttl not_after keep
constexpr const char* take = R"(
if redis.call('exists', KEYS[1]) == 0 then
  if late then return {-1, string.format('%d', us)} end
  local fence = next_fence(KEYS[2], ARGV[4])
  redis.call('hset', KEYS[1], ARGV[1], '1')
  redis.call('pexpire', KEYS[1], ARGV[2])
  return {1, fence}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return {1, same_fence(KEYS[2], ARGV[4])}
end
return {0, redis.call('pttl', KEYS[1]), redis.call('hkeys', KEYS[1])[1]}
)";

// KEYS lock queue            ARGV holder channel publish
// Answers how many heard of it, and one more.
constexpr const char* give_back = R"(
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then return 0 end
local heard = announce(ARGV[3], ARGV[2], '0')
local head = redis.call('lindex', KEYS[2], '0')
if head then heard = heard + announce(ARGV[3], ARGV[2] .. ':' .. head, '0') end
return 1 + heard
)";

// KEYS lock…                 ARGV ttl holder…
// A key that holds something else now is lost; the others are not.
constexpr const char* prolong = R"(
local yes = {}
for i, lock in ipairs(KEYS) do
  if redis.pcall('hexists', lock, ARGV[i + 1]) == 1 then
    redis.call('pexpire', lock, ARGV[1])
    yes[i] = 1
  else yes[i] = 0 end
end
return yes
)";

// KEYS lock token            ARGV field fence
// Only a holder raises it: his block becomes the one that the number is in, and begins with it if
// it is a fence of another of our servers. It never goes back.
constexpr const char* raise = R"(
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
local last = tonumber(redis.call('get', KEYS[2]) or '0')
local top = math.ceil(tonumber(ARGV[2]) / 65) * 65
if top > last then redis.call('set', KEYS[2], string.format('%.0f', top), 'keepttl') end
return 1
)";

/// Those at the head of the queue whose patience is over are gone.
constexpr const char* purge = R"(
local now = math.floor(us / 1000)
local function purge(queue, patience)
  while true do
    local head = redis.call('lindex', queue, 0)
    local limit = head and redis.call('zscore', patience, head)
    if not limit or tonumber(limit) > now then return head end
    redis.call('zrem', patience, head)
    redis.call('lpop', queue)
  end
end
)";

// KEYS lock token queue patience   ARGV holder ttl not_after keep wait join
// What an entry waits for is the sum of those before it: who leaves takes his own part out again.
// Asking again moves our own limit on, so that who is alive is never taken for dead.
constexpr const char* queue_up = R"(
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return {1, same_fence(KEYS[2], ARGV[4])}
end
if late then return {-1, string.format('%d', us)} end
local head = purge(KEYS[3], KEYS[4])
local free = redis.call('exists', KEYS[1]) == 0
if free and (not head or head == ARGV[1]) then
  local fence = next_fence(KEYS[2], ARGV[4])
  redis.call('lpop', KEYS[3])
  redis.call('zrem', KEYS[4], ARGV[1])
  for _, other in ipairs(redis.call('zrange', KEYS[4], 0, -1)) do
    redis.call('zincrby', KEYS[4], -tonumber(ARGV[5]), other)
  end
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return {1, fence}
end
local holder = not free and redis.call('hkeys', KEYS[1])[1] or head
local pause = not free and redis.call('pttl', KEYS[1])
  or math.max((tonumber(redis.call('zscore', KEYS[4], head)) or now) - now, 10)
if ARGV[6] == '0' then return {0, pause, holder, 0} end
local mine = redis.call('zscore', KEYS[4], ARGV[1])
if mine then
  if tonumber(mine) < now + tonumber(ARGV[5]) then redis.call('zadd', KEYS[4], now + tonumber(ARGV[5]), ARGV[1]) end
else
  local last = redis.call('lindex', KEYS[3], -1)
  local limit = last and last ~= ARGV[1] and redis.call('zscore', KEYS[4], last)
  local ahead = limit and tonumber(limit) - now or math.max(redis.call('pttl', KEYS[1]), 0)
  redis.call('zadd', KEYS[4], now + ahead + tonumber(ARGV[5]), ARGV[1])
  redis.call('rpush', KEYS[3], ARGV[1])
end
local place = redis.pcall('lpos', KEYS[3], ARGV[1])
return {0, pause, holder, type(place) == 'number' and place + 1 or 0}
)";

// KEYS lock queue patience   ARGV holder channel publish wait
// Gives back a grant, or a place; answers 1 if it was a grant.
constexpr const char* give_back_fair = R"(
local held = redis.call('hexists', KEYS[1], ARGV[1])
if held == 1 then redis.call('del', KEYS[1])
elseif redis.call('zscore', KEYS[3], ARGV[1]) then
  local behind = false
  for _, other in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
    if behind then redis.call('zincrby', KEYS[3], -tonumber(ARGV[4]), other) end
    if other == ARGV[1] then behind = true end
  end
  redis.call('zrem', KEYS[3], ARGV[1])
  redis.call('lrem', KEYS[2], 0, ARGV[1])
end
local head = purge(KEYS[2], KEYS[3])
if redis.call('exists', KEYS[1]) == 0 then
  if head then announce(ARGV[3], ARGV[2] .. ':' .. head, '0') end
  if held == 1 then announce(ARGV[3], ARGV[2], '0') end
end
return held
)";

// KEYS lock token reader writer_waits     ARGV holder ttl not_after within
// A lock of one holder on this name has no mode: Redisson would walk past it, we do not.
constexpr const char* read = R"(
local mode = redis.call('hget', KEYS[1], 'mode')
local fence = redis.call('get', KEYS[2]) or '0'
if not mode then
  if redis.call('exists', KEYS[1]) == 1 then
    return {0, redis.call('pttl', KEYS[1]), redis.call('hkeys', KEYS[1])[1]}
  end
elseif redis.call('hexists', KEYS[1], ARGV[1]) == 0 and ARGV[4] == '' and mode ~= 'read' or
    ARGV[4] ~= '' and redis.call('hexists', KEYS[1], ARGV[4] .. ':write') == 0 then
  local holder
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do if field ~= 'mode' then holder = field end end
  return {0, redis.call('pttl', KEYS[1]), holder}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  if late then return {-1, string.format('%d', us)} end
  if ARGV[4] == '' and redis.call('exists', KEYS[4]) == 1 then
    return {0, math.max(redis.call('pttl', KEYS[1]), redis.call('pttl', KEYS[4]), 10), ''}
  end
  if not mode then redis.call('hset', KEYS[1], 'mode', 'read') end
  redis.call('hset', KEYS[1], ARGV[1], 1)
end
redis.call('set', KEYS[3], 1, 'px', ARGV[2])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[2])))
return {1, fence}
)";

// KEYS lock reader           ARGV holder channel publish name
// The lock lives as long as the longest of the readers that remain, and never shorter because of a
// reading under a write.
constexpr const char* give_back_read = R"(
redis.call('del', KEYS[2])
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then return 0 end
local longest = 0
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
  if field ~= 'mode' then
    local count = tonumber(redis.call('hget', KEYS[1], field)) or 0
    for i = 1, count do
      longest = math.max(longest, redis.call('pttl', ARGV[4] .. ':' .. field .. ':rwlock_timeout:' .. i))
    end
  end
end
if redis.call('hget', KEYS[1], 'mode') == 'write' then return 1 end
if longest > 0 then
  redis.call('pexpire', KEYS[1], longest)
  return 1
end
redis.call('del', KEYS[1])
announce(ARGV[3], ARGV[2], '0')
return 1
)";

// KEYS lock reader           ARGV ttl holder
constexpr const char* prolong_read = R"(
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 or redis.call('exists', KEYS[2]) == 0 then return {0} end
redis.call('pexpire', KEYS[2], ARGV[1])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
return {1}
)";

// KEYS lock token writer_waits     ARGV holder ttl not_after keep join
constexpr const char* write = R"(
local mine = ARGV[1] .. ':write'
if redis.call('hexists', KEYS[1], mine) == 1 then
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[2])))
  return {1, same_fence(KEYS[2], ARGV[4])}
end
if late then return {-1, string.format('%d', us)} end
if redis.call('exists', KEYS[1]) == 1 then
  local holder
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do if field ~= 'mode' then holder = field end end
  if ARGV[5] == '1' then redis.call('set', KEYS[3], ARGV[1], 'px', ARGV[2]) end
  return {0, redis.call('pttl', KEYS[1]), holder}
end
local fence = next_fence(KEYS[2], ARGV[4])
redis.call('del', KEYS[3])
redis.call('hset', KEYS[1], 'mode', 'write', mine, 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return {1, fence}
)";

// KEYS lock writer_waits     ARGV holder channel publish
constexpr const char* give_back_write = R"(
local freed = 0
if redis.call('get', KEYS[2]) == ARGV[1] then
  redis.call('del', KEYS[2])
  announce(ARGV[3], ARGV[2], '1')
end
if redis.call('hdel', KEYS[1], ARGV[1] .. ':write') == 0 then return 0 end
if redis.call('hlen', KEYS[1]) == 1 then redis.call('del', KEYS[1])
else redis.call('hset', KEYS[1], 'mode', 'read') end
announce(ARGV[3], ARGV[2], '1')
return 1
)";

// KEYS lock                  ARGV ttl holder
constexpr const char* prolong_write = R"(
if redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 0 then return {0} end
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
return {1}
)";

/// Who has it already keeps it, longer.
constexpr const char* own_permit = R"(
local now = math.floor(us / 1000)
local mine = redis.call('zscore', KEYS[2], ARGV[1])
if mine and tonumber(mine) > now then
  redis.call('zadd', KEYS[2], now + tonumber(ARGV[2]), ARGV[1])
  return {1, '0'}
end
if late then return {-1, string.format('%d', us)} end
local permits = tonumber(ARGV[4])
)";

// KEYS free permits_out      ARGV id ttl not_after permits channel publish
// Each asker counts by its own number; who knows of more permits than the server makes up for it.
constexpr const char* take_permit = R"(
local free = tonumber(redis.call('get', KEYS[1]) or permits)
local back = redis.call('zremrangebyscore', KEYS[2], '-inf', now)
free = free + back
local out = redis.call('zcard', KEYS[2])
if out < permits then
  if free < 1 then free = 1 end
  redis.call('set', KEYS[1], string.format('%d', free - 1), 'keepttl')
  redis.call('zadd', KEYS[2], now + tonumber(ARGV[2]), ARGV[1])
  if back > 0 and free > 1 then announce(ARGV[6], ARGV[5], string.format('%d', free - 1)) end
  return {1, '0'}
end
if back > 0 then redis.call('set', KEYS[1], string.format('%d', free), 'keepttl') end
local first = redis.call('zrange', KEYS[2], 0, 0, 'withscores')
return {0, math.max(tonumber(first[2]) - now, 1), ''}
)";

// The same for a semaphore of which Redisson keeps nothing but the number that is free. We write
// down which are ours: a request that came twice is one permit, and those of our dead come back
// when one of us asks. That never makes more of them than the asker knows of: somebody may have
// made up for the lost ones by hand.
constexpr const char* take_plain_permit = R"(
local known = redis.call('get', KEYS[1])
local free = tonumber(known or permits)
if not free then return redis.error_reply('WRONGTYPE it is no semaphore') end
local back = redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if known and back > 0 then free = math.max(free, math.min(free + back, permits)) end
if free >= 1 then
  redis.call('set', KEYS[1], string.format('%d', free - 1), 'keepttl')
  redis.call('zadd', KEYS[2], now + tonumber(ARGV[2]), ARGV[1])
  if (back > 0 or not known) and free > 1 then announce(ARGV[6], ARGV[5], string.format('%d', free - 1)) end
  return {1, '0'}
end
local first = redis.call('zrange', KEYS[2], 0, 0, 'withscores')
return {0, first[2] and math.max(tonumber(first[2]) - now, 1) or -1, ''}
)";

// KEYS free permits_out      ARGV id channel publish
constexpr const char* give_back_permit = R"(
local limit = redis.call('zscore', KEYS[2], ARGV[1])
if not limit then return 0 end
redis.call('zrem', KEYS[2], ARGV[1])
announce(ARGV[3], ARGV[2], string.format('%d', redis.call('incr', KEYS[1])))
return tonumber(limit) > math.floor(us / 1000) and 1 or 0
)";

// KEYS permits_out           ARGV ttl id
constexpr const char* prolong_permit = R"(
local now = math.floor(us / 1000)
local limit = redis.call('zscore', KEYS[1], ARGV[2])
if not limit or tonumber(limit) <= now then return {0} end
redis.call('zadd', KEYS[1], now + tonumber(ARGV[1]), ARGV[2])
return {1}
)";

// KEYS lock queue patience permits_out     ARGV lock_channel read_write_channel permits_channel
// publish
//                                               plain_channel (if that is the layout) force_channel
// Answers how many there were. A hash whose fields are no holders is somebody's data, and left
// alone. Readers' own keys are left to expire: nothing looks at them alone.
constexpr const char* take_by_force = R"(
local kind = redis.call('type', KEYS[1]).ok
if kind == 'hash' then
  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    if field ~= 'mode' and not string.match(field, '^[%x-]+:%-?%d+$')
        and not string.match(field, '^[%x-]+:%-?%d+:write$') then
      return redis.error_reply('WRONGTYPE it is no lock')
    end
  end
end
local head = purge(KEYS[2], KEYS[3])
announce('publish', ARGV[6], KEYS[1])
if kind == 'hash' then
  local mode = redis.call('hget', KEYS[1], 'mode')
  local count = redis.call('hlen', KEYS[1]) - (mode and 1 or 0)
  redis.call('del', KEYS[1])
  if mode then announce(ARGV[4], ARGV[2], '1')
  else announce(ARGV[4], ARGV[1], '0') end
  if head then announce(ARGV[4], ARGV[1] .. ':' .. head, '0') end
  return count
end
if kind == 'string' and ARGV[5] ~= '' then
  redis.call('del', KEYS[1])
  announce(ARGV[4], ARGV[5], '0')
  return 1
end
local out = redis.call('zrangebyscore', KEYS[4], now, '+inf')
if kind == 'string' and redis.call('exists', KEYS[4]) == 1 then
  local back = redis.call('zcard', KEYS[4])
  redis.call('del', KEYS[4])
  announce(ARGV[4], ARGV[3], string.format('%d', redis.call('incrby', KEYS[1], back)))
  return #out
end
return 0
)";

// KEYS lock token queue permits_out
constexpr const char* look = R"(
local kind = redis.call('type', KEYS[1]).ok
local fields, value = {}, ''
if kind == 'hash' and redis.call('hlen', KEYS[1]) <= 10000 then
  fields = redis.call('hgetall', KEYS[1])
  if redis.call('hexists', KEYS[1], 'mode') == 1 then value = 'rw' end
elseif kind == 'string' then value = redis.call('getrange', KEYS[1], 0, 200) end
local permits = redis.call('type', KEYS[4]).ok == 'zset' and
  redis.call('zrangebyscore', KEYS[4], math.floor(us / 1000), '+inf', 'withscores') or {}
return {kind, redis.call('pttl', KEYS[1]), fields, redis.call('get', KEYS[2]) or '0',
  redis.call('lrange', KEYS[3], 0, 999), permits, string.format('%d', us), value}
)";

// The plain layout: one string, 32 digits of the holder's own, and the fence behind a dot.

// KEYS lock                  ARGV holder ttl not_after
constexpr const char* take_string = R"(
local now = redis.call('get', KEYS[1])
if not now then
  if late then return {-1, string.format('%d', us)} end
  redis.call('set', KEYS[1], ARGV[1] .. '.' .. string.format('%d', us), 'px', ARGV[2])
  return {1, string.format('%d', us)}
end
if string.sub(now, 1, 33) == ARGV[1] .. '.' then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return {1, string.sub(now, 34)}
end
return {0, redis.call('pttl', KEYS[1]), now}
)";

// KEYS lock                  ARGV holder channel publish
constexpr const char* give_back_string = R"(
local now = redis.call('get', KEYS[1])
if not now or string.sub(now, 1, 33) ~= ARGV[1] .. '.' then return 0 end
redis.call('del', KEYS[1])
return 1 + announce(ARGV[3], ARGV[2], '0')
)";

// KEYS lock                  ARGV ttl holder
constexpr const char* prolong_string = R"(
local now = redis.call('get', KEYS[1])
if not now or string.sub(now, 1, 33) ~= ARGV[2] .. '.' then return {0} end
redis.call('pexpire', KEYS[1], ARGV[1])
return {1}
)";

[[nodiscard]] std::string joined(std::initializer_list<const char*> parts) {
    std::string whole;
    for (const auto* part : parts)
        whole.append(part);
    return whole;
}

} // namespace

script::script(std::string_view body)
    : text{body}, sha{sha1_hex(text)}, called{"$7\r\nEVALSHA\r\n$40\r\n" + sha + "\r\n"} {}

scripts::scripts()
    : take{joined({server_time, in_time, fences, redis::take})},
      give_back{joined({announcing, redis::give_back})}, prolong{redis::prolong},
      raise{redis::raise}, queue_up{joined({server_time, in_time, fences, purge, redis::queue_up})},
      give_back_fair{joined({announcing, server_time, purge, redis::give_back_fair})},
      read{joined({server_time, in_time, redis::read})}, give_back_read{joined(
                                                             {announcing, redis::give_back_read})},
      prolong_read{redis::prolong_read}, write{joined(
                                             {server_time, in_time, fences, redis::write})},
      give_back_write{joined({announcing, redis::give_back_write})},
      prolong_write{redis::prolong_write},
      take_permit{joined({announcing, server_time, in_time, own_permit, redis::take_permit})},
      take_plain_permit{
          joined({announcing, server_time, in_time, own_permit, redis::take_plain_permit})},
      give_back_permit{joined({announcing, server_time, redis::give_back_permit})},
      prolong_permit{joined({server_time, redis::prolong_permit})},
      take_by_force{joined({announcing, server_time, purge, redis::take_by_force})},
      look{joined({server_time, redis::look})}, take_string{joined(
                                                    {server_time, in_time, redis::take_string})},
      give_back_string{joined({announcing, redis::give_back_string})}, prolong_string{
                                                                           redis::prolong_string} {}

std::array<const script*, 19> scripts_to_load() {
    const auto& all = all_scripts();
    return {&all.take,
            &all.give_back,
            &all.prolong,
            &all.queue_up,
            &all.give_back_fair,
            &all.read,
            &all.give_back_read,
            &all.prolong_read,
            &all.write,
            &all.give_back_write,
            &all.prolong_write,
            &all.take_permit,
            &all.take_plain_permit,
            &all.give_back_permit,
            &all.prolong_permit,
            &all.take_by_force,
            &all.take_string,
            &all.give_back_string,
            &all.prolong_string};
}

const scripts& all_scripts() {
    // Never destroyed: a client may still be closing on a thread of its own when the program ends.
    static const auto& all = *new scripts;
    return all;
}

} // namespace holdfast::redis
