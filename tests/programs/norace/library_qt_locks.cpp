// SPDX-License-Identifier: Apache-2.0
// The order that Qt makes: mutexes, semaphores, conditions, the end of a thread.
// levels: -O2 (what the library does is the same)
// package: Qt5Core
// flags: -fPIC
#include <QMutex>
#include <QReadWriteLock>
#include <QSemaphore>
#include <QThread>
#include <QWaitCondition>
#include <thread>

namespace {

QMutex mutex;
QReadWriteLock shared_lock;
QSemaphore semaphore;
QWaitCondition condition;
int by_mutex;
int by_shared_lock;
int is_ready;

class Worker : public QThread {
 public:
  int result = 0;

 private:
  void run() override {
    result = 5;
    for (int round = 0; round < 200; round++) {
      {
        const QMutexLocker lock(&mutex);
        by_mutex++;
      }
      if (mutex.tryLock()) {
        by_mutex++;
        mutex.unlock();
      }
      {
        const QWriteLocker lock(&shared_lock);
        by_shared_lock++;
      }
      const QReadLocker lock(&shared_lock);
      if (by_shared_lock < 1) __builtin_trap();
    }
  }
};

}  // namespace

int main() {
  Worker workers[3];
  int sum = 0;
  for (Worker& worker : workers) worker.start();
  for (Worker& worker : workers) {
    worker.wait();
    sum += worker.result;
  }
  int given = 0;
  std::thread giver([&] {
    given = 7;
    semaphore.release();
  });
  semaphore.acquire();
  given++;
  giver.join();

  std::thread waiter([] {
    mutex.lock();
    while (is_ready == 0) condition.wait(&mutex);
    is_ready++;
    mutex.unlock();
  });
  mutex.lock();
  is_ready = 1;
  condition.wakeAll();
  mutex.unlock();
  waiter.join();
  return sum == 15 && by_shared_lock == 600 && given == 8 && is_ready == 2 ? 0 : 1;
}
